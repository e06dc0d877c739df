// The natural logarithm; -infinity for zeros, NaN for negative numbers.
// Error at most 1 ulp (float), 0.95 ulp (double), as measured.

REAL Log(REAL x)
{
    const WORD bits = Bits(x);
    if (IsNan(x) || bits == INFINITY)
        return x;
    if ((bits & MAGNITUDE) == 0)
        return Infinity(-1.0f);
    if (bits > MAGNITUDE)
        return QuietNan(x);
    int exponent;
    const REAL scaled = NormalizeNearOne(x, exponent);
    return LogOfParts(scaled - 1.0f, exponent, 0.0f);
}
