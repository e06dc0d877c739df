// e^(high + low) for |low| below 2^-11: k ln 2 is subtracted in two steps (Cody and Waite 1980, "Software Manual for
// the Elementary Functions"), followed by a polynomial and a power of two. NaN if high is.
// for LEAST_OF_EXP: 104.0f, 746.0L

REAL ExpOfSum(REAL high, REAL low)
{
    if (IsNan(high))
        return high;
    if (high > MOST_OF_EXP)
        return Infinity(1.0f);
    if (high < -LEAST_OF_EXP)
        return 0.0f;
    // Adding 1.5 * 2^FRACTION_BITS rounds a small number to an integer in the lowest bits.
    precise REAL shifted = high * INVERSE_LN2 + ROUNDER;
    precise REAL k = shifted - ROUNDER;
    precise REAL a = high - k * LN2_HIGH;  // exact
    precise REAL b = low - k * LN2_LOW;
    precise REAL r = a + b;
    precise REAL rest = (a - r) + b;
    precise REAL result = 1.0f + (r + (ExpTail(r) + rest));
    return ScaleByPowerOfTwo(result, (int)k);
}
