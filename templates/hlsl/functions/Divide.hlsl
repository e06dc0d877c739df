// a / b, correctly rounded, subnormal operands and results included; Vulkan lets an instruction be off by 2.5 ulp. The
// instruction estimates the quotient of the significands as an integer, its exact remainder corrects it.
// needs: Bits FromBits LeadingZeros QuietNan

float Divide(float a, float b)
{
    const uint aBits = Bits(a) & 0x7fffffffu;
    const uint bBits = Bits(b) & 0x7fffffffu;
    const uint sign = (Bits(a) ^ Bits(b)) & ~0x7fffffffu;
    const bool isUndefined = aBits == bBits && (aBits == 0 || aBits == 0x7f800000u);
    if (aBits > 0x7f800000u || bBits > 0x7f800000u || isUndefined)
        return QuietNan(a);
    if (aBits == 0x7f800000u || bBits == 0)
        return FromBits(sign | 0x7f800000u);
    if (aBits == 0 || bBits == 0x7f800000u)
        return FromBits(sign);

    // The significands as integers of 24 bits, a's doubled where it is below b's.
    int exponent = (int)(aBits >> 23) - (int)(bBits >> 23);
    uint aSignificand = (aBits & 0x007fffffu) | 0x00800000u;
    uint bSignificand = (bBits & 0x007fffffu) | 0x00800000u;
    if (aBits < 0x00800000u)
    {
        const uint shift = LeadingZeros(aBits) - 8;
        aSignificand = aBits << shift;
        exponent += 1 - (int)shift;
    }
    if (bBits < 0x00800000u)
    {
        const uint shift = LeadingZeros(bBits) - 8;
        bSignificand = bBits << shift;
        exponent -= 1 - (int)shift;
    }
    if (aSignificand < bSignificand)
    {
        aSignificand <<= 1;
        exponent--;
    }

    // quotient = floor(aSignificand * 2^25 / bSignificand). The remainder of a good estimate is small, so that it is
    // right modulo 2^32; one more division of it leaves the quotient off by one at most.
    const float divisor = (float)bSignificand;
    uint quotient = (uint)((float)aSignificand / divisor * 33554432.0f);
    int remainder = (int)((aSignificand << 25) - quotient * bSignificand);
    const int correction = (int)((float)remainder / divisor);
    quotient += (uint)correction;
    remainder -= correction * (int)bSignificand;
    if (remainder < 0)
    {
        quotient--;
        remainder += (int)bSignificand;
    }
    else if (remainder >= (int)bSignificand)
    {
        quotient++;
        remainder -= (int)bSignificand;
    }

    // Round to nearest even with two bits below the last one, and a third for all that is below those.
    exponent += 127;
    if (exponent >= 255)
        return FromBits(sign | 0x7f800000u);
    uint rounding = quotient << 1 | (remainder != 0 ? 1 : 0);
    uint bits = 0;
    if (exponent > 0)
        bits = (uint)(exponent - 1) << 23;
    else
    {
        const uint shift = (uint)min(1 - exponent, 28);
        const uint lost = rounding & (((uint)1 << shift) - 1);
        rounding = rounding >> shift | (lost != 0 ? 1 : 0);
    }
    const uint tail = (uint)rounding & 7;
    bits += rounding >> 3;
    if (tail > 4 || (tail == 4 && (bits & 1) != 0))
        bits++;
    return FromBits(sign | bits);
}

double Divide(double a, double b)
{
    const uint64_t aBits = Bits(a) & 0x7fffffffffffffffull;
    const uint64_t bBits = Bits(b) & 0x7fffffffffffffffull;
    const uint64_t sign = (Bits(a) ^ Bits(b)) & ~0x7fffffffffffffffull;
    const bool isUndefined = aBits == bBits && (aBits == 0 || aBits == 0x7ff0000000000000ull);
    if (aBits > 0x7ff0000000000000ull || bBits > 0x7ff0000000000000ull || isUndefined)
        return QuietNan(a);
    if (aBits == 0x7ff0000000000000ull || bBits == 0)
        return FromBits(sign | 0x7ff0000000000000ull);
    if (aBits == 0 || bBits == 0x7ff0000000000000ull)
        return FromBits(sign);

    // The significands as integers of 53 bits, a's doubled where it is below b's.
    int exponent = (int)(aBits >> 52) - (int)(bBits >> 52);
    uint64_t aSignificand = (aBits & 0x000fffffffffffffull) | 0x0010000000000000ull;
    uint64_t bSignificand = (bBits & 0x000fffffffffffffull) | 0x0010000000000000ull;
    if (aBits < 0x0010000000000000ull)
    {
        const uint shift = LeadingZeros(aBits) - 11;
        aSignificand = aBits << shift;
        exponent += 1 - (int)shift;
    }
    if (bBits < 0x0010000000000000ull)
    {
        const uint shift = LeadingZeros(bBits) - 11;
        bSignificand = bBits << shift;
        exponent -= 1 - (int)shift;
    }
    if (aSignificand < bSignificand)
    {
        aSignificand <<= 1;
        exponent--;
    }

    // quotient = floor(aSignificand * 2^54 / bSignificand). The remainder of a good estimate is small, so that it is
    // right modulo 2^64; one more division of it leaves the quotient off by one at most.
    const double divisor = (double)bSignificand;
    uint64_t quotient = (uint64_t)((double)aSignificand / divisor * 18014398509481984.0L);
    int64_t remainder = (int64_t)((aSignificand << 54) - quotient * bSignificand);
    const int64_t correction = (int64_t)((double)remainder / divisor);
    quotient += (uint64_t)correction;
    remainder -= correction * (int64_t)bSignificand;
    if (remainder < 0)
    {
        quotient--;
        remainder += (int64_t)bSignificand;
    }
    else if (remainder >= (int64_t)bSignificand)
    {
        quotient++;
        remainder -= (int64_t)bSignificand;
    }

    // Round to nearest even with two bits below the last one, and a third for all that is below those.
    exponent += 1023;
    if (exponent >= 2047)
        return FromBits(sign | 0x7ff0000000000000ull);
    uint64_t rounding = quotient << 1 | (remainder != 0 ? 1 : 0);
    uint64_t bits = 0;
    if (exponent > 0)
        bits = (uint64_t)(exponent - 1) << 52;
    else
    {
        const uint shift = (uint)min(1 - exponent, 57);
        const uint64_t lost = rounding & (((uint64_t)1 << shift) - 1);
        rounding = rounding >> shift | (lost != 0 ? 1 : 0);
    }
    const uint tail = (uint)rounding & 7;
    bits += rounding >> 3;
    if (tail > 4 || (tail == 4 && (bits & 1) != 0))
        bits++;
    return FromBits(sign | bits);
}
