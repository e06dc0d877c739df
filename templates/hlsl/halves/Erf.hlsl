// The error function: a minimax polynomial below 3/4, then by the tail of the normal distribution.
// Error at most 0.506 ulp of a half, over all halves.
// needs: CopySign Exp IsNan Magnitude NormalTail

float Erf(float x)
{
    const float a = min(Magnitude(x), 4.5f);
    const float z = a * a;
    float p = -0.021644244f;
    p = mad(p, z, 0.11106068f);
    p = mad(p, z, -0.37592742f);
    p = mad(p, z, 1.1283756f);
    const float result = a < 0.75f ? a * p : 1.0f - 2.0f * NormalTail(1.4142135f * a) * Exp(-z);
    return IsNan(x) ? x : CopySign(result, x);
}
