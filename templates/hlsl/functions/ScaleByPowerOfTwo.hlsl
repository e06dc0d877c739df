// x * 2^exponent for |x| from 1/8 to 8 and |exponent| to 250 (float), 2000 (double). Two factors reach all results and
// round once, where they are subnormal; larger ones are infinite.
// needs: FromBits

REAL ScaleByPowerOfTwo(REAL x, int exponent)
{
    const int first = exponent >> 1;
    precise REAL scaled = x * FromBits((WORD)(BIAS + first) << FRACTION_BITS);
    scaled = scaled * FromBits((WORD)(BIAS + exponent - first) << FRACTION_BITS);
    return scaled;
}
