// x minus the nearest multiple of pi / 2, as a sum result + low, for any finite x of at least 0; quadrant is that
// multiple modulo 4. Payne and Hanek 1983, "Radian reduction for trigonometric functions", on integers: the significand
// of x times those bits of 2 / pi that matter, from 2^1 downwards modulo 4. The relative error is about 2^-31:
// no float comes closer to a multiple than 2^-30 of pi / 2, and 34 more bits are known.
// needs: Bits FromBits LeadingZeros

// 2 / pi after 64 zeros: bit j, counted from the front, has the value 2^(63 - j).
static const uint TWO_OVER_PI[9] = {
    0x00000000, 0x00000000, 0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0, 0xdb629599, 0x3c439041, 0xfe5163ab,
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
