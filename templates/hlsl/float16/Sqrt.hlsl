// The square root; NaN for negative numbers.
// Error at most 0.501 ulp, over all float16 values.

float Sqrt(float x)
{
    const float result = x < 0.0f ? QuietNan(x) : sqrt(x);
    return IsNan(x) || x == 0.0f || Bits(x) == 0x7f800000u ? x : result;
}
