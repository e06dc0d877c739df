// The natural logarithm; -infinity for zeros, NaN for negative numbers.
// Error at most 1 ulp, as measured.
// needs: Bits Infinity IsNan LogOfParts NormalizeNearOne QuietNan

float Log(float x)
{
    const uint bits = Bits(x);
    if (IsNan(x) || bits == 0x7f800000u)
        return x;
    if ((bits & 0x7fffffffu) == 0)
        return Infinity(-1.0f);
    if (bits > 0x7fffffffu)
        return QuietNan(x);
    int exponent;
    const float scaled = NormalizeNearOne(x, exponent);
    return LogOfParts(scaled - 1.0f, exponent, 0.0f);
}
