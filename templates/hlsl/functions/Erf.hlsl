// The error function: below 0.9 a polynomial, then 1 - 2^P(|x|), without branches (scripts/minimax.py); 1 from 4 on.
// Error at most 1.2 ulp, as measured.
// needs: Bits CopySign FromBits IsNan Magnitude

float Erf(float x)
{
    const float a = Magnitude(x);
    const float z = a * a;
    float p = 7.882577e-5f;
    p = mad(p, z, -0.00080190494f);
    p = mad(p, z, 0.005189353f);
    p = mad(p, z, -0.02685436f);
    p = mad(p, z, 0.11283598f);
    p = mad(p, z, -0.37612626f);
    p = mad(p, z, 0.12837917f);
    DXIL_PRECISE const float small = mad(a, p, a);  // where this is fused, a * p may be subnormal

    // 1 - erf is 2^(q - 2 b): a power of two, and one of the exponent's fraction, of which nothing is lost.
    const float b = min(a, 4.0f);
    float q = 0.00028836949f;
    q = mad(q, b, -0.004446109f);
    q = mad(q, b, 0.03228791f);
    q = mad(q, b, -0.15039898f);
    q = mad(q, b, -0.91874056f);
    q = mad(q, b, 0.37280107f);
    q = mad(q, b, -0.00020840544f);
    const float shifted = Magnitude(mad(-2.0f, b, q) + 12582912.0f);
    const float r = mad(-2.0f, b, 12582912.0f - shifted) + q;
    float power = 0.0013264724f;
    power = mad(power, r, 0.009671546f);
    power = mad(power, r, 0.05550734f);
    power = mad(power, r, 0.24022242f);
    power = mad(power, r, 0.693147f);
    power = mad(power, r, 1.0f);
    DXIL_PRECISE const float large = 1.0f - FromBits(Bits(power) + (Bits(shifted) << 23));
    return IsNan(x) ? x : CopySign(a < 0.9f ? small : large, x);
}
