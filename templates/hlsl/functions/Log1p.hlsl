// ln(1 + x), accurate near 0; -infinity for -1, NaN below. What 1 + x loses in rounding is added as its derivative
// says.
// Error at most 0.95 ulp (float), 0.95 ulp (double), as measured.
// needs: Infinity IsInfinity IsNan LogOfParts Magnitude NormalizeNearOne QuietNan

REAL Log1p(REAL x)
{
    if (IsNan(x) || Magnitude(x) < HALF_ULP)
        return x;
    if (x <= -1.0f)
        return x < -1.0f ? QuietNan(x) : Infinity(x);
    if (IsInfinity(x))
        return x;
    if (x > -0.29f && x < 0.41f)
        return LogOfParts(x, 0, 0.0f);
    precise REAL sum = 1.0f + x;
    precise REAL lost = x < 1.0f ? x - (sum - 1.0f) : 1.0f - (sum - x);
    int exponent;
    const REAL scaled = NormalizeNearOne(sum, exponent);
    return LogOfParts(scaled - 1.0f, exponent, lost / sum);
}
