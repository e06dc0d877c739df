// The hyperbolic sine, h - 1 / (4 h) for h = e^|x| / 2; below 1 a minimax polynomial (scripts/minimax.py), without
// branches.
// Error at most 1.65 ulp, as measured.
// needs: CopySign HalfExp IsNan Magnitude

float Sinh(float x)
{
    const float a = Magnitude(x);
    const float z = a * a;
    float p = 2.8169514e-6f;
    p = mad(p, z, 0.00019836160f);
    p = mad(p, z, 0.0083333501f);
    p = mad(p, z, 0.16666666f);
    const float small = mad(a * z, p, a);
    const float halfExp = HalfExp(a);
    DXIL_PRECISE const float result = a < 1.0f ? small : halfExp - 0.25f / halfExp;
    return IsNan(x) ? x : CopySign(result, x);
}
