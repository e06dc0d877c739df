// The inverse hyperbolic tangent, ln((1 + a) / (1 - a)) / 2 for a = |x|; below 0.3, where the hardware's logarithm is
// too inexact, a minimax polynomial (scripts/minimax.py). Infinite at -1 and 1, NaN outside.
// Error at most 0.501 ulp, over all float16 values.
// needs: CopySign Infinity Magnitude QuietNan

float Atanh(float x)
{
    const float a = Magnitude(x);
    const float z = a * a;
    float p = 0.1642019f;
    p = mad(p, z, 0.19884728f);
    p = mad(p, z, 0.33335074f);
    const float near = mad(a * z, p, a);
    const float far = 0.34657359f * log2((1.0f + a) / (1.0f - a));
    const float result = a < 0.3f ? near : a < 1.0f ? far : Infinity(a);
    return a <= 1.0f ? CopySign(result, x) : QuietNan(x);
}
