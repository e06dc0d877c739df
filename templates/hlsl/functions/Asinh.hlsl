// The inverse hyperbolic sine, ln(1 + (a + a^2 / (1 + sqrt(1 + a^2)))) for a = |x|; ln(2 a) for large ones.
// Error at most 1.75 ulp (float), 1.75 ulp (double), as measured.
// needs: CopySign IsNan Log Log1p Magnitude Sqrt

float Asinh(float x)
{
    if (IsNan(x))
        return x;
    const float a = Magnitude(x);
    if (a > 4096.0f)
        return CopySign(Log(a) + 0.6931472f, x);
    const float square = a * a;
    return CopySign(Log1p(a + square / (1.0f + Sqrt(1.0f + square))), x);
}

double Asinh(double x)
{
    if (IsNan(x))
        return x;
    const double a = Magnitude(x);
    if (a > 268435456.0L)
        return CopySign(Log(a) + 0.6931471805599453L, x);
    const double square = a * a;
    return CopySign(Log1p(a + square / (1.0L + Sqrt(1.0L + square))), x);
}
