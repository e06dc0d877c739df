// The square root, correctly rounded. Vulkan allows the instruction to be off by several ulp, and DXC compiles
// sqrt(double) through float. The root of the significand, as an integer, is estimated and corrected by its exact
// remainder.

float Sqrt(float x)
{
    // square = x * 2^(2 n), an integer from 2^46 to 2^48; a subnormal x is taken as the integer that its bits are.
    const uint bits = Bits(x);
    const bool isSubnormal = bits < 0x00800000u;
    const uint normal = isSubnormal ? Bits((float)(bits << 1)) : bits;
    const uint squareBits = ((normal - 0x00800000u) & 0x00ffffffu) + 0x56800000u;
    const float square = FromBits(squareBits);

    // root = head + tail, an integer; head has its upper 12 bits, so that all products and differences are exact. The
    // argument of LessExact has few bits and loses none: the call only keeps the compiler from simplifying.
    const float inverse = rsqrt(square);
    const float head = FromBits((Bits(square * inverse) + 0x800u) & 0xfffff000u);
    const float rest = mad(-head, head, square);
    const float most = 0.5f * inverse * rest;
    const float tail = round(mad(0.5f * inverse * most, most, most));
    const float left = mad(-tail, tail, LessExact(mad(-2.0f * tail, head, rest)));
    const float root = head + tail;

    // It is off by one at most, only next to where it would round differently; no root is a tie.
    DXIL_PRECISE const float nearest = root + (left > root ? 1.0f : left <= -root ? -1.0f : 0.0f);
    const uint exponents = (uint)((int)(normal - squareBits) >> 1) - (isSubnormal ? 0x25800000u : 0);
    const float result = FromBits(Bits(nearest) + exponents);
    const bool isItself = IsNan(x) || (bits & 0x7fffffffu) == 0 || bits == 0x7f800000u;
    return isItself ? x : bits > 0x7fffffffu ? QuietNan(x) : result;
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

    // root = floor(sqrt(significand * 2^54)). The estimate's remainder is small, so computing it modulo 2^64 gives it
    // exactly. One Newton step on integers leaves the root off by one at most.
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

    // The root has one bit more than the result keeps, and is never a tie: its square would have too many bits.
    return FromBits(((uint64_t)((exponent + 2098) / 2 - 1) << 52) + ((root + 1) >> 1));
}
