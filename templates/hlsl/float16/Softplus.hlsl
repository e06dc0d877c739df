// ln(1 + e^x) = max(x, 0) + ln(1 + u) for u = e^-|x|, the logarithm a minimax polynomial (scripts/minimax.py).
// Error at most 0.502 ulp, over all float16 values.

float Softplus(float x)
{
    const float u = exp2(-1.442695f * min(Magnitude(x), 100.0f));
    float p = 0.014142212f;
    p = mad(p, u, -0.06640476f);
    p = mad(p, u, 0.14922646f);
    p = mad(p, u, -0.23503954f);
    p = mad(p, u, 0.33109463f);
    p = mad(p, u, -0.49986966f);
    p = mad(p, u, 0.9999987f);
    return IsNan(x) ? x : mad(p, u, max(x, 0.0f));
}
