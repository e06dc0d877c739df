// The hyperbolic tangent: a minimax polynomial below 1/2, then 1 - 2 / (e^(2 |x|) + 1).
// Error at most 0.501 ulp of a half, over all halves.
// needs: CopySign Exp IsNan Magnitude

float Tanh(float x)
{
    const float a = Magnitude(x);
    const float z = a * a;
    float p = -0.044752706f;
    p = mad(p, z, 0.13205424f);
    p = mad(p, z, -0.33328164f);
    const float result = a < 0.5f ? mad(a * z, p, a) : 1.0f - 2.0f / (Exp(2.0f * a) + 1.0f);
    return IsNan(x) ? x : CopySign(result, x);
}
