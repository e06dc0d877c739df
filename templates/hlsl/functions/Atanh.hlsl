// The inverse hyperbolic tangent, ln(1 + 2 a / (1 - a)) / 2 for a = |x|; infinite at -1 and 1, NaN outside.
// Error at most 2 ulp, as measured.
// needs: CopySign Log1p Magnitude QuietNan

float Atanh(float x)
{
    const float a = Magnitude(x);
    if (!(a <= 1.0f))
        return QuietNan(x);
    return CopySign(0.5f * Log1p(2.0f * a / (1.0f - a)), x);
}
