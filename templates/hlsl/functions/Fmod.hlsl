// The remainder of a divided by b, with the sign of a even for zeros. Exact for all finite numbers; NaN for an infinite
// a and for b = 0. Long division on integers, 8 (float) or 11 (double) bits of the quotient per step.

REAL Fmod(REAL a, REAL b)
{
    const WORD aBits = Bits(a) & MAGNITUDE;
    const WORD bBits = Bits(b) & MAGNITUDE;
    if (aBits >= INFINITY || bBits > INFINITY || bBits == 0)
        return QuietNan(a);
    if (aBits < bBits)
        return a;

    // a and b as integers times powers of two: a's integer is reduced modulo b's while it is scaled to b's exponent.
    const int aExponent = max((int)(aBits >> FRACTION_BITS), 1);
    const int bExponent = max((int)(bBits >> FRACTION_BITS), 1);
    const WORD divisor = bBits - ((WORD)(bExponent - 1) << FRACTION_BITS);
    WORD remainder = aBits - ((WORD)(aExponent - 1) << FRACTION_BITS);
    int left = aExponent - bExponent;
    do
    {
        remainder = (remainder << min(left, LEADING_BITS)) % divisor;
        left -= LEADING_BITS;
    }
    while (left > 0 && remainder != 0);

    const WORD sign = Bits(a) & ~MAGNITUDE;
    if (remainder == 0)
        return FromBits(sign);
    const int shift = min((int)LeadingZeros(remainder) - LEADING_BITS, bExponent - 1);
    return FromBits(sign | ((remainder << shift) + ((WORD)(bExponent - 1 - shift) << FRACTION_BITS)));
}
