// e^x - 1 = 2^k ((1 - 2^-k) + (e^r - 1)), x = k ln 2 + r: nothing cancels near 0.
// Error at most 1.5 ulp (float), 1.55 ulp (double), as measured.
// needs: ExpTail FromBits Infinity IsNan Magnitude ScaleByPowerOfTwo

float Expm1(float x)
{
    if (IsNan(x) || Magnitude(x) < 2.9802322e-8f)
        return x;
    if (x > 89.0f)
        return Infinity(1.0f);
    if (x < -18.0f)
        return -1.0f;
    // Added to a small number, 1.5 * 2^23 rounds it to an integer in the lowest bits.
    precise float shifted = x * 1.442695f + 12582912.0f;
    precise float k = shifted - 12582912.0f;
    precise float a = x - k * 0.69314575f;  // exact
    precise float b = -k * 1.4286068e-6f;
    precise float r = a + b;
    precise float rest = (a - r) + b;
    const int exponent = (int)k;
    const float power = exponent > 30 ? 0.0f : FromBits((uint)(127 - exponent) << 23);
    precise float whole = 1.0f - power;
    precise float result = whole + (r + (ExpTail(r) + rest));
    return ScaleByPowerOfTwo(result, exponent);
}

double Expm1(double x)
{
    if (IsNan(x) || Magnitude(x) < 5.551115123125783e-17L)
        return x;
    if (x > 710.0L)
        return Infinity(1.0L);
    if (x < -38.0L)
        return -1.0L;
    // Added to a small number, 1.5 * 2^52 rounds it to an integer in the lowest bits.
    precise double shifted = x * 1.4426950408889634L + 6755399441055744.0L;
    precise double k = shifted - 6755399441055744.0L;
    precise double a = x - k * 0.6931471805598903L;  // exact
    precise double b = -k * 5.497923018708371e-14L;
    precise double r = a + b;
    precise double rest = (a - r) + b;
    const int exponent = (int)k;
    const double power = exponent > 60 ? 0.0L : FromBits((uint64_t)(1023 - exponent) << 52);
    precise double whole = 1.0L - power;
    precise double result = whole + (r + (ExpTail(r) + rest));
    return ScaleByPowerOfTwo(result, exponent);
}
