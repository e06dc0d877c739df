// e^x, computed as a multiple of 2^64 or 2^-64, so that only the last step can overflow or become subnormal.
// Error at most 0.9 ulp, as measured.
// needs: ExpTimes IsNan

float Exp(float x)
{
    const bool isLarge = x > 0.0f;
    const float power = ExpTimes(clamp(x, -110.0f, 90.0f), 0.0f, isLarge ? -64 : 64);
    return IsNan(x) ? x : power * (isLarge ? 1.8446744e19f : 5.421011e-20f);
}
