// The inverse hyperbolic sine, ln(1 + (a + a^2 / (1 + sqrt(1 + a^2)))) for a = |x|; ln(2 a) for large a.
// Error at most 1.75 ulp, as measured.
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
