// x^y as in C: 1 for y = 0 or x = 1, whatever the other is; NaN for a negative x unless y is an integer. With |x| = m
// 2^k and s = (m - 1) / (m + 1) the logarithm of m is 2 artanh(s), a minimax polynomial (scripts/minimax.py).
// Error at most 0.51 ulp, as measured.

float Pow(float x, float y)
{
    const uint bits = Bits(x) & 0x7fffffffu;
    const bool isSubnormal = bits < 0x00800000u;
    const uint rest = (isSubnormal ? Bits((float)bits) : bits) - 0x3f3504f3u;
    const float k = (float)(((int)rest >> 23) - (isSubnormal ? 149 : 0));
    const float m = FromBits((rest & 0x007fffffu) + 0x3f3504f3u);
    const float s = (m - 1.0f) / (m + 1.0f);
    const float z = s * s;
    const float logarithm = mad(s, mad(z, mad(z, 0.5957807f, 0.9615883f), 2.8853904f), k);
    const float exponent = clamp(y, -3.4359738e10f, 3.4359738e10f);
    const float usual = exp2(clamp(exponent * logarithm, -200.0f, 200.0f));

    const bool isEdge = bits - 1 >= 0x7f7fffffu;  // 0, infinity, NaN
    const bool isLarge = (bits != 0) == (y > 0.0f);
    const float power = isEdge ? (isLarge ? FromBits(0x7f800000u) : 0.0f) : usual;

    // Half of an odd integer has a fraction of 1/2, half of an even one has none; drivers may flush half of a
    // subnormal.
    const float halved = frac(0.5f * Magnitude(exponent));
    const bool isOdd = halved == 0.5f;
    const bool isInteger = isOdd || (halved == 0.0f && Magnitude(y) >= 1.0f);
    const bool isNegative = Bits(x) - 0x80000001u < 0x7f7fffffu;  // also finite and nonzero
    const bool isNan = IsNan(x) || IsNan(y) || (isNegative && !isInteger);
    const float result = isNan ? QuietNan(x) : CopySign(power, isOdd ? x : 1.0f);
    return y == 0.0f || x == 1.0f ? 1.0f : result;
}
