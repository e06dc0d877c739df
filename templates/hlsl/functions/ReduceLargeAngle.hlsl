// x minus the nearest multiple of pi / 2, as a sum result + low, for any finite x of at least 0; quadrant is that
// multiple modulo 4. Payne and Hanek 1983, "Radian reduction for trigonometric functions", on integers: the significand
// of x times those bits of 2 / pi that matter, from 2^1 downwards modulo 4. The relative error is about 2^-31 (float),
// 2^-62 (double): no double comes closer to a multiple than 2^-61 of pi / 2, and 75 more bits are known.

// 2 / pi after 64 zeros: bit j, counted from the front, has the value 2^(63 - j).
static const uint TWO_OVER_PI[39] = {
    0x00000000, 0x00000000, 0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0, 0xdb629599, 0x3c439041,
    0xfe5163ab, 0xdebbc561, 0xb7246e3a, 0x424dd2e0, 0x06492eea, 0x09d1921c, 0xfe1deb1c, 0xb129a73e,
    0xe88235f5, 0x2ebb4484, 0xe99c7026, 0xb45f7e41, 0x3991d639, 0x835339f4, 0x9c845f8b, 0xbdf9283b,
    0x1ff897ff, 0xde05980f, 0xef2f118b, 0x5a0a6d1f, 0x6d367ecf, 0x27cb09b7, 0x4f463f66, 0x9e5fea2d,
    0x7527bac7, 0xebe5f17b, 0x3d0739f7, 0x8a5292ea, 0x6bfb5fb1, 0x1f8d5d08, 0x56033046,
};

// 32 bits of the table, starting at this bit
uint TwoOverPi(uint bit)
{
    const uint word = bit >> 5;
    return (uint)(((uint64_t)TWO_OVER_PI[word] << 32 | TWO_OVER_PI[word + 1]) >> (32 - (bit & 31)));
}

float ReduceLargeAngle(float x, out float low, out uint quadrant)
{
    low = 0.0f;
    quadrant = 0;
    if (x <= 0.7853982f)
        return x;
    // x = significand * 2^(exponent - 150)
    const uint exponent = Bits(x) >> 23;
    const uint significand = (Bits(x) & 0x007fffffu) | 0x00800000u;
    const uint first = exponent - 88;
    const uint64_t lowest = (uint64_t)significand * TwoOverPi(first + 64);
    const uint64_t middle = (uint64_t)significand * TwoOverPi(first + 32) + (lowest >> 32);
    const uint highest = significand * TwoOverPi(first) + (uint)(middle >> 32);

    // Two bits of quadrant, then the fraction of a quarter turn; from one half on, the distance to the next quadrant
    uint64_t fraction = (uint64_t)highest << 34 | (uint64_t)(uint)middle << 2 | (uint)lowest >> 30;
    const bool isNegative = fraction >> 63 != 0;
    quadrant = ((highest >> 30) + (isNegative ? 1 : 0)) & 3;
    fraction = isNegative ? 0 - fraction : fraction;
    const uint zeros = LeadingZeros(fraction);
    const uint angle = (uint)((uint64_t)(uint)(fraction << zeros >> 32) * 0xc90fdaa2u >> 32);  // times pi / 2
    const float unit = FromBits((96 - zeros) << 23 | (isNegative ? 0x80000000u : 0));
    low = (float)(angle & 0xff) * unit;
    return (float)(angle & ~0xffu) * unit;
}

double ReduceLargeAngle(double x, out double low, out uint quadrant)
{
    low = 0.0L;
    quadrant = 0;
    if (x <= 0.7853981633974483L)
        return x;
    // x = significand * 2^(exponent - 1075)
    const uint exponent = (uint)(Bits(x) >> 52);
    const uint64_t significand = (Bits(x) & 0x000fffffffffffffull) | 0x0010000000000000ull;
    const uint first = exponent - 1013;
    const uint64_t last = (uint64_t)TwoOverPi(first + 128) << 32 | TwoOverPi(first + 160);
    const uint64_t next = (uint64_t)TwoOverPi(first + 64) << 32 | TwoOverPi(first + 96);
    const uint64_t lowest = significand * last;
    const uint64_t carry = MultiplyHigh(significand, last);
    const uint64_t middle = significand * next + carry;
    const uint64_t highest = significand * ((uint64_t)TwoOverPi(first) << 32 | TwoOverPi(first + 32))
        + MultiplyHigh(significand, next) + (middle < carry ? 1 : 0);

    // Two bits of quadrant, then the fraction of a quarter turn; from one half on, the distance to the next quadrant
    uint64_t fraction = highest << 2 | middle >> 62;
    uint64_t rest = middle << 2 | lowest >> 62;
    const bool isNegative = fraction >> 63 != 0;
    quadrant = ((uint)(highest >> 62) + (isNegative ? 1 : 0)) & 3;
    if (isNegative)
    {
        rest = 0 - rest;
        fraction = ~fraction + (rest == 0 ? 1 : 0);
    }
    const uint zeros = LeadingZeros(fraction);
    fraction = fraction << zeros | (zeros > 0 ? rest >> (64 - zeros) : 0);
    const uint64_t angle = MultiplyHigh(fraction, 0xc90fdaa22168c235ull);  // times pi / 2
    const double unit = FromBits((uint64_t)(960 - zeros) << 52 | (isNegative ? 0x8000000000000000ull : 0));
    low = (double)(uint)(angle & 0x7ff) * unit;
    return (double)(angle & ~0x7ffull) * unit;
}
