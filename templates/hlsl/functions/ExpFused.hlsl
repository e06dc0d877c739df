// e^(high + low) for |low| up to 1/8 and high + low from -112 to 88. Like ExpOfSum without its care: operations may be
// fused, and are where the device can. The product of k and the greater part of ln 2 is exact either way.
// needs: ExpTail FromBits

float ExpFused(float high, float low)
{
    const float k = round((high + low) * 1.442695f);
    const float r = mad(k, -1.4286068e-6f, mad(k, -0.69314575f, high)) + low;
    const int exponent = (int)k;
    const int first = exponent >> 1;
    const float scaled = (1.0f + (r + ExpTail(r))) * FromBits((uint)(127 + first) << 23);
    return scaled * FromBits((uint)(127 + exponent - first) << 23);
}
