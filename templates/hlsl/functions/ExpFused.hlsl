// e^(high + low) for |low| up to 1/8 and high + low from -112 to 20. A cheaper ExpOfSum: operations may be fused, and
// are where the device can. The product of k and the larger part of ln 2 is exact either way.
// needs: Bits ExpTail FromBits KeptApart Magnitude

float ExpFused(float high, float low)
{
    // Adding 1.5 * 2^23 rounds a small number to an integer in the lowest bits.
    const float shifted = mad(high + low, 1.442695f, 12582912.0f);
    const float k = Magnitude(shifted) - 12582912.0f;  // Magnitude keeps compilers from cancelling the addition
    const float r = KeptApart(mad(k, -0.69314575f, high), shifted) + mad(k, -1.4286068e-6f, low);
    // Scaled by 2^64, so that only the last step can make it subnormal
    const uint scaled = Bits(1.0f + (r + ExpTail(r))) + (Bits(shifted) << 23) + 0x20000000u;
    return FromBits(scaled) * 5.421011e-20f;
}
