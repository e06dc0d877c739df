// The natural logarithm; -infinity for zeros, NaN for negative numbers. A subnormal number counts as its bits.
// Error at most 0.5001 ulp of a half, over all halves.
// needs: Bits FromBits Infinity IsNan LogOfParts QuietNan

float Log(float x)
{
    const uint bits = Bits(x);
    const bool isSubnormal = bits < 0x00800000u;
    const uint rest = (isSubnormal ? Bits((float)bits) : bits) - 0x3f3504f3u;
    const int exponent = ((int)rest >> 23) - (isSubnormal ? 149 : 0);
    const float result = LogOfParts(FromBits((rest & 0x007fffffu) + 0x3f3504f3u) - 1.0f, exponent);
    const bool isZero = (bits & 0x7fffffffu) == 0;
    const float outside = isZero ? Infinity(-1.0f) : QuietNan(x);
    return IsNan(x) || bits == 0x7f800000u ? x : bits > 0x7fffffffu || isZero ? outside : result;
}
