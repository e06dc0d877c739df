// The error function: a minimax polynomial below 3/4, then 1 - 2^P(|x|) (scripts/minimax.py); 1 from 3 on.
// Error at most 0.51 ulp, over all float16 values.

float Erf(float x)
{
    const float a = Magnitude(x);
    const float b = min(a, 3.0f);
    const float z = b * b;
    float p = -0.021644244f;
    p = mad(p, z, 0.11106068f);
    p = mad(p, z, -0.37592742f);
    p = mad(p, z, 1.1283756f);
    float q = 0.010759889f;
    q = mad(q, b, -0.10221561f);
    q = mad(q, b, -0.9739019f);
    q = mad(q, b, -1.5958531f);
    q = mad(q, b, -0.007211791f);
    const float result = a < 0.75f ? a * p : 1.0f - exp2(q);
    return IsNan(x) ? x : CopySign(result, x);
}
