// Splits a positive finite x into a factor from sqrt(1/2) to sqrt(2) and 2^exponent. Exact, also for subnormals.
// for ROOT_OF_HALF: 0x3f3504f3u, 0x3fe6a09e667f3bcdull
// for WRAPPED: 512, 4096

REAL NormalizeNearOne(REAL x, out int exponent)
{
    WORD bits = Bits(x);
    int shift = 0;
    if (bits < LEAST_NORMAL)
    {
        shift = (int)LeadingZeros(bits) - LEADING_BITS;
        bits <<= shift;
    }
    const WORD rest = bits - ROOT_OF_HALF;
    exponent = (int)(rest >> FRACTION_BITS) - (rest > MAGNITUDE ? WRAPPED : 0) - shift;
    return FromBits((rest & FRACTION) + ROOT_OF_HALF);
}
