// e^x - 1; near 0 a minimax polynomial.
// Error at most 0.503 ulp, over all float16 values.

float Expm1(float x)
{
    float p = 0.008342424f;
    p = mad(p, x, 0.04209251f);
    p = mad(p, x, 0.16667393f);
    p = mad(p, x, 0.4999748f);
    const float result = Magnitude(x) < 0.5f ? x * mad(x, p, 1.0f) : Exp(x) - 1.0f;
    return IsNan(x) ? x : result;
}
