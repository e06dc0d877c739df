// The hyperbolic sine, h - 1 / (4 h) for h = e^|x| / 2. Float: below 1 a minimax polynomial (scripts/minimax.py),
// without branches; h is scaled by 2^-64, since e^|x| overflows before the result. Double: below 1
// (t + t / (t + 1)) / 2 for t = e^|x| - 1.
// Error at most 1.65 ulp (float), 2.15 ulp (double), as measured.

float Sinh(float x)
{
    const float a = Magnitude(x);
    const float z = a * a;
    float p = 2.8169514e-6f;
    p = mad(p, z, 0.00019836160f);
    p = mad(p, z, 0.0083333501f);
    p = mad(p, z, 0.16666666f);
    const float small = mad(a * z, p, a);
    const float halfExp = ExpTimes(min(a, 89.5f), 0.0f, -65) * 1.8446744e19f;
    DXIL_PRECISE const float result = a < 1.0f ? small : halfExp - 0.25f / halfExp;
    return IsNan(x) ? x : CopySign(result, x);
}

double Sinh(double x)
{
    if (IsNan(x))
        return x;
    const double a = Magnitude(x);
    if (a < 1.0L)
    {
        const double t = Expm1(a);
        return CopySign(0.5L * (t + Divide(t, t + 1.0L)), x);
    }
    const double halfExp = HalfExp(a);
    return CopySign(halfExp - 0.25L / halfExp, x);
}
