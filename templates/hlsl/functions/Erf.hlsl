// The error function: below 1 a polynomial, then 1 - e^(-x^2) Q(1 / (|x| + 2)) (minimax by Remez exchange; the form is
// that of Cody 1969, "Rational Chebyshev approximations for the error function").
// Error at most 1.2 ulp (float), 1.2 ulp (double), as measured.
// needs: CopySign Exp IsNan Magnitude

float Erf(float x)
{
    if (IsNan(x))
        return x;
    const float a = Magnitude(x);
    if (a > 4.0f)
        return CopySign(1.0f, x);
    if (a < 1.0f)
    {
        const float z = a * a;
        float p = 7.882577e-5f;
        p = p * z - 0.00080190494f;
        p = p * z + 0.005189353f;
        p = p * z - 0.02685436f;
        p = p * z + 0.11283598f;
        p = p * z - 0.37612626f;
        p = p * z + 0.12837917f;
        return CopySign(mad(a, p, a), x);  // where that is one step, a * p may be subnormal
    }
    const float t = 1.0f / (a + 2.0f);
    float p = -7.3835053f;
    p = p * t + 10.183733f;
    p = p * t - 0.51384634f;
    p = p * t + 1.5866729f;
    p = p * t + 0.5194789f;
    p = p * t + 0.0018179901f;
    precise float result = 1.0f - Exp(-(a * a)) * p;
    return CopySign(result, x);
}

double Erf(double x)
{
    if (IsNan(x))
        return x;
    const double a = Magnitude(x);
    if (a > 6.0L)
        return CopySign(1.0L, x);
    if (a < 1.0L)
    {
        const double z = a * a;
        double p = 5.955287635845302e-11L;
        p = p * z - 1.137185116917237e-09L;
        p = p * z + 1.465954903429469e-08L;
        p = p * z - 1.6350283978544683e-07L;
        p = p * z + 1.6460998254928295e-06L;
        p = p * z - 1.492559515883144e-05L;
        p = p * z + 0.00012055331108479353L;
        p = p * z - 0.0008548326980784674L;
        p = p * z + 0.005223977624817832L;
        p = p * z - 0.026866170645076844L;
        p = p * z + 0.11283791670954879L;
        p = p * z - 0.3761263890318375L;
        p = p * z + 0.1283791670955126L;
        precise double result = a + a * p;
        return CopySign(result, x);
    }
    const double t = 1.0L / (a + 2.0L);
    double p = -211.76301449713026L;
    p = p * t + 746.8029314760415L;
    p = p * t - 1151.2125286353148L;
    p = p * t + 993.1431323115363L;
    p = p * t - 509.82134717818343L;
    p = p * t + 160.79264487782532L;
    p = p * t - 40.981721410379684L;
    p = p * t + 9.856557725967305L;
    p = p * t + 1.9027121812794658L;
    p = p * t + 2.0578738249451556L;
    p = p * t + 1.12331476836968L;
    p = p * t + 0.5643750228186925L;
    p = p * t - 3.077977993828505e-06L;
    precise double result = 1.0L - Exp(-(a * a)) * p;
    return CopySign(result, x);
}
