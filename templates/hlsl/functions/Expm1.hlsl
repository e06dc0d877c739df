// e^x - 1 = 2^k ((1 - 2^-k) + (e^r - 1)), x = k ln 2 + r, without cancellation near 0.
// Error at most 1.5 ulp (float), 1.55 ulp (double), as measured.
// for LEAST: 18.0f, 38.0L
// for NEGLIGIBLE: 30, 60

REAL Expm1(REAL x)
{
    if (IsNan(x) || Magnitude(x) < HALF_ULP)
        return x;
    if (x > MOST_OF_EXP)
        return Infinity(1.0f);
    if (x < -LEAST)
        return -1.0f;
    // Adding 1.5 * 2^FRACTION_BITS rounds a small number to an integer in the lowest bits.
    precise REAL shifted = x * INVERSE_LN2 + ROUNDER;
    precise REAL k = shifted - ROUNDER;
    precise REAL a = x - k * LN2_HIGH;  // exact
    precise REAL b = -k * LN2_LOW;
    precise REAL r = a + b;
    precise REAL rest = (a - r) + b;
    const int exponent = (int)k;
    const REAL power = exponent > NEGLIGIBLE ? 0.0f : FromBits((WORD)(BIAS - exponent) << FRACTION_BITS);
    precise REAL whole = 1.0f - power;
    precise REAL result = whole + (r + (ExpTail(r) + rest));
    return ScaleByPowerOfTwo(result, exponent);
}
