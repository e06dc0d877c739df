// e^(high + low) for |low| up to 1/8 and high + low from -112 to 20. Scaled by 2^64, so that only the last step can
// make it subnormal.

float ExpFused(float high, float low)
{
    return ExpTimes(high, low, 64) * 5.421011e-20f;
}
