// x * 2^exponent for |x| from 1/8 to 8 and |exponent| up to 250 (float), 2000 (double). Two factors reach all results
// and round only once, for subnormal ones; what is too large becomes infinite.

REAL ScaleByPowerOfTwo(REAL x, int exponent)
{
    const int first = exponent >> 1;
    precise REAL scaled = x * FromBits((WORD)(BIAS + first) << FRACTION_BITS);
    scaled = scaled * FromBits((WORD)(BIAS + exponent - first) << FRACTION_BITS);
    return scaled;
}
