// The error function. Float: below 0.9 a polynomial, then 1 - 2^P(|x|), without branches (scripts/minimax.py); 1 from 4
// on. Double: below 1 a polynomial, then 1 - e^(-x^2) Q(1 / (|x| + 2)) (minimax by Remez exchange; the form is that of
// Cody 1969, "Rational Chebyshev approximations for the error function").
// Error at most 1.2 ulp (float), 1.2 ulp (double), as measured.

float Erf(float x)
{
    const float a = Magnitude(x);
    const float z = a * a;
    float p = 7.882577e-5f;
    p = mad(p, z, -0.00080190494f);
    p = mad(p, z, 0.005189353f);
    p = mad(p, z, -0.02685436f);
    p = mad(p, z, 0.11283598f);
    p = mad(p, z, -0.37612626f);
    p = mad(p, z, 0.12837917f);
    DXIL_PRECISE const float small = mad(a, p, a);  // where this is fused, a * p may be subnormal

    // 1 - erf is 2^(q - 2 b): a power of two, and one of the exponent's fraction, of which nothing is lost.
    const float b = min(a, 4.0f);
    float q = 0.00028836949f;
    q = mad(q, b, -0.004446109f);
    q = mad(q, b, 0.03228791f);
    q = mad(q, b, -0.15039898f);
    q = mad(q, b, -0.91874056f);
    q = mad(q, b, 0.37280107f);
    q = mad(q, b, -0.00020840544f);
    const float shifted = Magnitude(mad(-2.0f, b, q) + 12582912.0f);
    const float r = mad(-2.0f, b, 12582912.0f - shifted) + q;
    float power = 0.0013264724f;
    power = mad(power, r, 0.009671546f);
    power = mad(power, r, 0.05550734f);
    power = mad(power, r, 0.24022242f);
    power = mad(power, r, 0.693147f);
    power = mad(power, r, 1.0f);
    DXIL_PRECISE const float large = 1.0f - FromBits(Bits(power) + (Bits(shifted) << 23));
    return IsNan(x) ? x : CopySign(a < 0.9f ? small : large, x);
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
