// The hyperbolic sine; below 1 a minimax polynomial.
// Error at most 0.5001 ulp of a half, over all halves.
// needs: CopySign Exp IsNan Magnitude

float Sinh(float x)
{
    const float a = Magnitude(x);
    const float z = a * a;
    float p = 0.00020372176f;
    p = mad(p, z, 0.008330284f);
    p = mad(p, z, 0.16666716f);
    const float power = Exp(a);
    const float result = a < 1.0f ? mad(a * z, p, a) : 0.5f * (power - 1.0f / power);
    return IsNan(x) ? x : CopySign(result, x);
}
