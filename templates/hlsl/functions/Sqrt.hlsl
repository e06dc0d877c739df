// The square root, correctly rounded; Vulkan allows the instruction to be off by several ulp. The root of the
// significand, as an integer, is estimated and corrected by its exact remainder.
// needs: Bits FromBits IsNan LessExact QuietNan

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
