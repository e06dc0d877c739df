// e^x - 1 = 2^k ((1 - 2^-k) + (e^r - 1)), x = k ln 2 + r, without cancellation near 0.
// Error at most 1.5 ulp, as measured.
// needs: ExpTail FromBits Infinity IsNan Magnitude ScaleByPowerOfTwo

float Expm1(float x)
{
    if (IsNan(x) || Magnitude(x) < 2.9802322e-8f)
        return x;
    if (x > 89.0f)
        return Infinity(1.0f);
    if (x < -18.0f)
        return -1.0f;
    // Adding 1.5 * 2^23 rounds a small number to an integer in the lowest bits.
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
