// The square root, correctly rounded. Vulkan lets an instruction be off by several ulp, and DXC takes sqrt(double)
// through float. An estimate of the root of the significand as an integer is corrected by its exact remainder.
// needs: Bits FromBits IsNan LeadingZeros QuietNan

float Sqrt(float x)
{
    const uint bits = Bits(x);
    if (bits == 0 || bits == ~0x7fffffffu || bits == 0x7f800000u || IsNan(x))
        return x;
    if (bits > 0x7fffffffu)
        return QuietNan(x);

    // x = significand * 2^exponent, the significand of 24 or 25 bits, exponent - 25 even
    int exponent = (int)(bits >> 23) - 150;
    uint significand = (bits & 0x007fffffu) | 0x00800000u;
    if (bits < 0x00800000u)
    {
        const uint shift = LeadingZeros(bits) - 8;
        significand = bits << shift;
        exponent = -149 - (int)shift;
    }
    const uint odd = (uint)(exponent - 25) & 1;
    significand <<= odd;
    exponent -= (int)odd;

    // root = floor(sqrt(significand * 2^25)). The remainder of a good estimate is small, so that it is right modulo
    // 2^32. One Newton step on integers leaves the root off by one at most.
    uint root = (uint)(sqrt((float)significand) * 5792.61865f);
    int remainder = (int)((significand << 25) - root * root);
    root += (uint)(int)((float)remainder / (2 * (float)root));
    remainder = (int)((significand << 25) - root * root);
    if (remainder < 0)
        root--;
    else if (remainder > (int)(2 * root))
        root++;

    // The root has one bit more than it keeps and is no tie: its square would have too many bits.
    return FromBits(((uint)((exponent + 277) / 2 - 1) << 23) + ((root + 1) >> 1));
}

double Sqrt(double x)
{
    const uint64_t bits = Bits(x);
    if (bits == 0 || bits == ~0x7fffffffffffffffull || bits == 0x7ff0000000000000ull || IsNan(x))
        return x;
    if (bits > 0x7fffffffffffffffull)
        return QuietNan(x);

    // x = significand * 2^exponent, the significand of 53 or 54 bits, exponent - 54 even
    int exponent = (int)(bits >> 52) - 1075;
    uint64_t significand = (bits & 0x000fffffffffffffull) | 0x0010000000000000ull;
    if (bits < 0x0010000000000000ull)
    {
        const uint shift = LeadingZeros(bits) - 11;
        significand = bits << shift;
        exponent = -1074 - (int)shift;
    }
    const uint odd = (uint)(exponent - 54) & 1;
    significand <<= odd;
    exponent -= (int)odd;

    // root = floor(sqrt(significand * 2^54)). The remainder of a good estimate is small, so that it is right modulo
    // 2^64. One Newton step on integers leaves the root off by one at most.
    const double scaled = (double)significand * 2.220446049250313e-16L;
    double inverse = (double)rsqrt((float)scaled);
    inverse = inverse * (1.5L - 0.5L * scaled * inverse * inverse);
    inverse = inverse * (1.5L - 0.5L * scaled * inverse * inverse);
    uint64_t root = (uint64_t)(scaled * inverse * 9007199254740992.0L);
    int64_t remainder = (int64_t)((significand << 54) - root * root);
    root += (uint64_t)(int64_t)((double)remainder / (2 * (double)root));
    remainder = (int64_t)((significand << 54) - root * root);
    if (remainder < 0)
        root--;
    else if (remainder > (int64_t)(2 * root))
        root++;

    // The root has one bit more than it keeps and is no tie: its square would have too many bits.
    return FromBits(((uint64_t)((exponent + 2098) / 2 - 1) << 52) + ((root + 1) >> 1));
}
