// e^(high + low) 2^exponent for |low| up to 1/8, where the result is a normal number and |high + low| below 128. A
// cheaper ExpOfSum: operations may be fused, and are where the device can. The product of k and the larger part of ln 2
// is exact either way.

float ExpTimes(float high, float low, int exponent)
{
    // Adding 1.5 * 2^23 rounds a small number to an integer in the lowest bits.
    const float shifted = mad(high + low, 1.442695f, 12582912.0f);
    const float k = abs(shifted) - 12582912.0f;  // `abs` keeps compilers from cancelling the addition
    const float a = mad(k, -0.69314575f, high);
    const float b = mad(k, -1.4286068e-6f, low);
    // From the smallest part to the largest: in another order, the sum would be off by another half ulp.
    const float rest = KeptApart(b + ExpTail(a + b), shifted);
    const float tail = KeptApart(a + rest, shifted);
    DXIL_PRECISE const float fraction = 1.0f + tail;
    return FromBits(Bits(fraction) + ((Bits(shifted) + (uint)exponent) << 23));
}
