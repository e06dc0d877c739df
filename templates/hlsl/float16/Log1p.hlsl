// ln(1 + x); -infinity for -1, NaN below. 1 + x is not rounded where it needs no power of two.
// Error at most 0.5003 ulp, over all float16 values.

float Log1p(float x)
{
    const float sum = 1.0f + x;
    const uint rest = Bits(sum) - 0x3f3504f3u;
    const int exponent = (int)rest >> 23;
    const float f = exponent == 0 ? x : FromBits((rest & 0x007fffffu) + 0x3f3504f3u) - 1.0f;
    const float result = LogOfParts(f, exponent);
    const float outside = x < -1.0f ? QuietNan(x) : Infinity(-1.0f);
    return IsNan(x) || x == 0.0f || Bits(x) == 0x7f800000u ? x : x <= -1.0f ? outside : result;
}
