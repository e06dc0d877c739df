// The arc tangent: arctan(a) = arctan(c) + arctan((a - c) / (1 + a c)) for c = 0, 1, infinity brings |a| below tan(pi /
// 8), where a minimax polynomial applies (Remez exchange).
// Error at most 1.85 ulp, as measured.
// needs: CopySign IsNan Magnitude

float Atan(float x)
{
    if (IsNan(x))
        return x;
    const float a = Magnitude(x);
    float t = a;
    float base = 0.0f;
    float baseLow = 0.0f;
    if (a > 2.4142137f)
    {
        t = -1.0f / a;
        base = 1.5707964f;
        baseLow = -4.371139e-8f;
    }
    else if (a > 0.41421357f)
    {
        t = (a - 1.0f) / (a + 1.0f);
        base = 0.7853982f;
        baseLow = -2.1855694e-8f;
    }
    const float z = t * t;
    float p = -0.06078954f;
    p = p * z + 0.10594347f;
    p = p * z - 0.14243644f;
    p = p * z + 0.1999848f;
    p = p * z - 0.33333316f;
    precise float result = base + (t + (t * z * p + baseLow));
    return CopySign(result, x);
}
