// e^(high + low) for |low| below 2^-11: less k ln 2 in two steps (Cody and Waite 1980, "Software Manual for the
// Elementary Functions"), a polynomial, a power of two. NaN where high is.
// needs: ExpTail Infinity IsNan ScaleByPowerOfTwo

float ExpOfSum(float high, float low)
{
    if (IsNan(high))
        return high;
    if (high > 89.0f)
        return Infinity(1.0f);
    if (high < -104.0f)
        return 0.0f;
    // Added to a small number, 1.5 * 2^23 rounds it to an integer in the lowest bits.
    precise float shifted = high * 1.442695f + 12582912.0f;
    precise float k = shifted - 12582912.0f;
    precise float a = high - k * 0.69314575f;  // exact
    precise float b = low - k * 1.4286068e-6f;
    precise float r = a + b;
    precise float rest = (a - r) + b;
    precise float result = 1.0f + (r + (ExpTail(r) + rest));
    return ScaleByPowerOfTwo(result, (int)k);
}

double ExpOfSum(double high, double low)
{
    if (IsNan(high))
        return high;
    if (high > 710.0L)
        return Infinity(1.0L);
    if (high < -746.0L)
        return 0.0L;
    // Added to a small number, 1.5 * 2^52 rounds it to an integer in the lowest bits.
    precise double shifted = high * 1.4426950408889634L + 6755399441055744.0L;
    precise double k = shifted - 6755399441055744.0L;
    precise double a = high - k * 0.6931471805598903L;  // exact
    precise double b = low - k * 5.497923018708371e-14L;
    precise double r = a + b;
    precise double rest = (a - r) + b;
    precise double result = 1.0L + (r + (ExpTail(r) + rest));
    return ScaleByPowerOfTwo(result, (int)k);
}
