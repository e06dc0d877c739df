// The arc tangent: arctan(a) = arctan(c) + arctan((a - c) / (1 + a c)) for c = 0, 1, infinity brings |a| below tan(pi /
// 8), where a minimax polynomial applies (Remez exchange).
// Error at most 1.85 ulp (float), 1.8 ulp (double), as measured.

float Atan(float x)
{
    if (IsNan(x))
        return x;
    const float a = Magnitude(x);
    float t = a;
    float base = 0.0f;
    float baseLow = 0.0f;
    if (a > 2.4142137f)
    {
        t = -1.0f / a;
        base = 1.5707964f;
        baseLow = -4.371139e-8f;
    }
    else if (a > 0.41421357f)
    {
        t = (a - 1.0f) / (a + 1.0f);
        base = 0.7853982f;
        baseLow = -2.1855694e-8f;
    }
    const float z = t * t;
    float p = -0.06078954f;
    p = p * z + 0.10594347f;
    p = p * z - 0.14243644f;
    p = p * z + 0.1999848f;
    p = p * z - 0.33333316f;
    precise float result = base + (t + (t * z * p + baseLow));
    return CopySign(result, x);
}

double Atan(double x)
{
    if (IsNan(x))
        return x;
    const double a = Magnitude(x);
    double t = a;
    double base = 0.0L;
    double baseLow = 0.0L;
    if (a > 2.414213562373095L)
    {
        t = Divide(-1.0L, a);
        base = 1.5707963267948966L;
        baseLow = 6.123233995736766e-17L;
    }
    else if (a > 0.41421356237309503L)
    {
        t = Divide(a - 1.0L, a + 1.0L);
        base = 0.7853981633974483L;
        baseLow = 3.061616997868383e-17L;
    }
    const double z = t * t;
    double p = -0.017892414120175667L;
    p = p * z + 0.038051578189293576L;
    p = p * z - 0.050388151049344555L;
    p = p * z + 0.058477855025780755L;
    p = p * z - 0.06663090459603656L;
    p = p * z + 0.07692059079066323L;
    p = p * z - 0.0909089769722643L;
    p = p * z + 0.1111111078147266L;
    p = p * z - 0.14285714280159156L;
    p = p * z + 0.19999999999953239L;
    p = p * z - 0.333333333333332L;
    precise double result = base + (t + (t * z * p + baseLow));
    return CopySign(result, x);
}
