// What is left of a when as many whole b as fit are taken away; the sign is that of a, of zeros too. Exact for all
// finite numbers; NaN for an infinite a and for b = 0. Long division on integers, 8 (float) or 11 (double) bits of the
// quotient a step.
// needs: Bits FromBits LeadingZeros QuietNan

float Fmod(float a, float b)
{
    const uint aBits = Bits(a) & 0x7fffffffu;
    const uint bBits = Bits(b) & 0x7fffffffu;
    if (aBits >= 0x7f800000u || bBits > 0x7f800000u || bBits == 0)
        return QuietNan(a);
    if (aBits < bBits)
        return a;

    // a and b as integers times powers of two: a's is reduced modulo b's while it is scaled to b's exponent.
    const int aExponent = max((int)(aBits >> 23), 1);
    const int bExponent = max((int)(bBits >> 23), 1);
    const uint divisor = bBits - ((uint)(bExponent - 1) << 23);
    uint remainder = (aBits - ((uint)(aExponent - 1) << 23)) % divisor;
    for (int left = aExponent - bExponent; left > 0 && remainder != 0; left -= 8)
        remainder = (remainder << min(left, 8)) % divisor;

    const uint sign = Bits(a) & ~0x7fffffffu;
    if (remainder == 0)
        return FromBits(sign);
    const int shift = min((int)LeadingZeros(remainder) - 8, bExponent - 1);
    return FromBits(sign | ((remainder << shift) + ((uint)(bExponent - 1 - shift) << 23)));
}

double Fmod(double a, double b)
{
    const uint64_t aBits = Bits(a) & 0x7fffffffffffffffull;
    const uint64_t bBits = Bits(b) & 0x7fffffffffffffffull;
    if (aBits >= 0x7ff0000000000000ull || bBits > 0x7ff0000000000000ull || bBits == 0)
        return QuietNan(a);
    if (aBits < bBits)
        return a;

    // a and b as integers times powers of two: a's is reduced modulo b's while it is scaled to b's exponent.
    const int aExponent = max((int)(aBits >> 52), 1);
    const int bExponent = max((int)(bBits >> 52), 1);
    const uint64_t divisor = bBits - ((uint64_t)(bExponent - 1) << 52);
    uint64_t remainder = (aBits - ((uint64_t)(aExponent - 1) << 52)) % divisor;
    for (int left = aExponent - bExponent; left > 0 && remainder != 0; left -= 11)
        remainder = (remainder << min(left, 11)) % divisor;

    const uint64_t sign = Bits(a) & ~0x7fffffffffffffffull;
    if (remainder == 0)
        return FromBits(sign);
    const int shift = min((int)LeadingZeros(remainder) - 11, bExponent - 1);
    return FromBits(sign | ((remainder << shift) + ((uint64_t)(bExponent - 1 - shift) << 52)));
}
