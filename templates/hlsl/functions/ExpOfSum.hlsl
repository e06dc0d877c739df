// e^(high + low) for |low| below 2^-11: k ln 2 is subtracted in two steps (Cody and Waite 1980, "Software Manual for
// the Elementary Functions"), followed by a polynomial and a power of two. NaN if high is.
// needs: ExpTail Infinity IsNan ScaleByPowerOfTwo

double ExpOfSum(double high, double low)
{
    if (IsNan(high))
        return high;
    if (high > 710.0L)
        return Infinity(1.0L);
    if (high < -746.0L)
        return 0.0L;
    // Adding 1.5 * 2^52 rounds a small number to an integer in the lowest bits.
    precise double shifted = high * 1.4426950408889634L + 6755399441055744.0L;
    precise double k = shifted - 6755399441055744.0L;
    precise double a = high - k * 0.6931471805598903L;  // exact
    precise double b = low - k * 5.497923018708371e-14L;
    precise double r = a + b;
    precise double rest = (a - r) + b;
    precise double result = 1.0L + (r + (ExpTail(r) + rest));
    return ScaleByPowerOfTwo(result, (int)k);
}
