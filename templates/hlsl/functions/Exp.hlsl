// e^x. A float is multiplied by half of its power of two at last, so that only this can overflow or become subnormal.
// Error at most 0.9 ulp (float), 0.85 ulp (double), as measured.

float Exp(float x)
{
    const float a = clamp(x, -110.0f, 90.0f);
    const uint scale = Bits(mad(a, 0.7213475f, 12583039.0f));  // half of the exponent, and 127, in the lowest bits
    const float power = ExpTimes(a, 0.0f, 127 - (int)scale) * FromBits(scale << 23);
    return IsNan(x) ? x : power;
}

double Exp(double x)
{
    return ExpOfSum(x, 0.0f);
}
