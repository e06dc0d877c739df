// The angle of the point (x, y), from -pi to pi, as in C: a minimax polynomial in the smaller coordinate over the
// larger (scripts/minimax.py). Infinities are all equally far away, and farther than any half.
// Error at most 0.502 ulp, as measured.

float Atan2(float y, float x)
{
    const float a = min(Magnitude(y), 1e30f);
    const float b = min(Magnitude(x), 1e30f);
    const float longer = max(max(a, b), 1e-30f);
    const float t = min(a, b) / longer;
    const float z = t * t;
    float p = 0.0081055211f;
    p = mad(p, z, -0.037794396f);
    p = mad(p, z, 0.084838722f);
    p = mad(p, z, -0.13544471f);
    p = mad(p, z, 0.1989785f);
    p = mad(p, z, -0.33328489f);
    const float flat = mad(t * z, p, t);
    const float right = a > b ? 1.5707964f - flat : flat;
    const float angle = Bits(x) > 0x7fffffffu ? 3.1415927f - right : right;
    return IsNan(x) || IsNan(y) ? QuietNan(x) : CopySign(angle, y);
}
