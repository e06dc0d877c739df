// a / b, correctly rounded, with subnormal operands and results; Vulkan allows the instruction to be off by 2.5 ulp.
// The instruction estimates the quotient of the significands as an integer, and the exact remainder corrects it.
// for SIGNIFICAND_BITS: 24, 53
// for QUOTIENT_BITS: 25, 54
// for QUOTIENT_SCALE: 33554432.0f, 18014398509481984.0L
// for EXPONENT_OF_INFINITY: 255, 2047
// for ALL_BITS: 28, 57

REAL Divide(REAL a, REAL b)
{
    const WORD aBits = Bits(a) & MAGNITUDE;
    const WORD bBits = Bits(b) & MAGNITUDE;
    const WORD sign = (Bits(a) ^ Bits(b)) & ~MAGNITUDE;
    const bool isUndefined = aBits == bBits && (aBits == 0 || aBits == INFINITY);
    if (aBits > INFINITY || bBits > INFINITY || isUndefined)
        return QuietNan(a);
    if (aBits == INFINITY || bBits == 0)
        return FromBits(sign | INFINITY);
    if (aBits == 0 || bBits == INFINITY)
        return FromBits(sign);

    int exponent = (int)(aBits >> FRACTION_BITS) - (int)(bBits >> FRACTION_BITS);
    // For a power of 2, which most scales are, the significand does not change.
    const int biased = exponent + BIAS;
    const bool isNormal = biased > 0 && biased < EXPONENT_OF_INFINITY;
    if ((bBits & FRACTION) == 0 && min(aBits, bBits) >= LEAST_NORMAL && isNormal)
        return FromBits(sign | (WORD)biased << FRACTION_BITS | (aBits & FRACTION));

    // The significands as integers of SIGNIFICAND_BITS bits, a's doubled if it is below b's
    WORD aSignificand = (aBits & FRACTION) | LEAST_NORMAL;
    WORD bSignificand = (bBits & FRACTION) | LEAST_NORMAL;
    if (aBits < LEAST_NORMAL)
    {
        const uint shift = LeadingZeros(aBits) - LEADING_BITS;
        aSignificand = aBits << shift;
        exponent += 1 - (int)shift;
    }
    if (bBits < LEAST_NORMAL)
    {
        const uint shift = LeadingZeros(bBits) - LEADING_BITS;
        bSignificand = bBits << shift;
        exponent -= 1 - (int)shift;
    }
    if (aSignificand < bSignificand)
    {
        aSignificand <<= 1;
        exponent--;
    }

    // quotient = floor(aSignificand * 2^QUOTIENT_BITS / bSignificand). The estimate's remainder is small, so computing
    // it modulo 2^WORD_BITS gives it exactly; dividing it once more leaves the quotient off by one at most.
    const REAL divisor = (REAL)bSignificand;
    WORD quotient = (WORD)((REAL)aSignificand / divisor * QUOTIENT_SCALE);
    INTEGER remainder = (INTEGER)((aSignificand << QUOTIENT_BITS) - quotient * bSignificand);
    const INTEGER correction = (INTEGER)((REAL)remainder / divisor);
    quotient += (WORD)correction;
    remainder -= correction * (INTEGER)bSignificand;
    if (remainder < 0)
    {
        quotient--;
        remainder += (INTEGER)bSignificand;
    }
    else if (remainder >= (INTEGER)bSignificand)
    {
        quotient++;
        remainder -= (INTEGER)bSignificand;
    }

    // Rounds to nearest even with two bits below the last one, and a sticky bit for the rest
    exponent += BIAS;
    if (exponent >= EXPONENT_OF_INFINITY)
        return FromBits(sign | INFINITY);
    WORD rounding = quotient << 1 | (remainder != 0 ? 1 : 0);
    WORD bits = 0;
    if (exponent > 0)
        bits = (WORD)(exponent - 1) << FRACTION_BITS;
    else
    {
        const uint shift = (uint)min(1 - exponent, ALL_BITS);
        const WORD lost = rounding & (((WORD)1 << shift) - 1);
        rounding = rounding >> shift | (lost != 0 ? 1 : 0);
    }
    const uint tail = (uint)rounding & 7;
    bits += rounding >> 3;
    if (tail > 4 || (tail == 4 && (bits & 1) != 0))
        bits++;
    return FromBits(sign | bits);
}
