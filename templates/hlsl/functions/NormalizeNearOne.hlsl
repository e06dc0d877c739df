// x as the product of a number from the root of 1/2 to the root of 2 and 2^exponent; for positive finite x. Exact, for
// subnormals too.
// needs: Bits FromBits LeadingZeros

float NormalizeNearOne(float x, out int exponent)
{
    uint bits = Bits(x);
    int shift = 0;
    if (bits < 0x00800000u)
    {
        shift = (int)LeadingZeros(bits) - 8;
        bits <<= shift;
    }
    const uint rest = bits - 0x3f3504f3u;
    exponent = (int)(rest >> 23) - (rest > 0x7fffffffu ? 512 : 0) - shift;
    return FromBits((rest & 0x007fffffu) + 0x3f3504f3u);
}

double NormalizeNearOne(double x, out int exponent)
{
    uint64_t bits = Bits(x);
    int shift = 0;
    if (bits < 0x0010000000000000ull)
    {
        shift = (int)LeadingZeros(bits) - 11;
        bits <<= shift;
    }
    const uint64_t rest = bits - 0x3fe6a09e667f3bcdull;
    exponent = (int)(rest >> 52) - (rest > 0x7fffffffffffffffull ? 4096 : 0) - shift;
    return FromBits((rest & 0x000fffffffffffffull) + 0x3fe6a09e667f3bcdull);
}
