// x * 2^exponent for |x| from 1/8 to 8 and |exponent| to 250 (float), 2000 (double). Two factors reach all results and
// round once, where they are subnormal; larger ones are infinite.
// needs: FromBits

float ScaleByPowerOfTwo(float x, int exponent)
{
    const int first = exponent >> 1;
    precise float scaled = x * FromBits((uint)(127 + first) << 23);
    scaled = scaled * FromBits((uint)(127 + exponent - first) << 23);
    return scaled;
}

double ScaleByPowerOfTwo(double x, int exponent)
{
    const int first = exponent >> 1;
    precise double scaled = x * FromBits((uint64_t)(1023 + first) << 52);
    scaled = scaled * FromBits((uint64_t)(1023 + exponent - first) << 52);
    return scaled;
}
