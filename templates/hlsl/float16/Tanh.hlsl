// The hyperbolic tangent: a quotient of polynomials in x^2; beyond the clamp, every result rounds to 1 or -1.
// Error at most 0.503 ulp, over all float16 values.

float Tanh(float x)
{
    const float a = clamp(x, -4.6f, 4.6f);
    const float z = a * a;
    float above = 0.0016852206f;
    above = mad(above, z, 0.117271106f);
    above = mad(above, z, 0.9999989f);
    float below = 6.788776e-5f;
    below = mad(below, z, 0.018563675f);
    below = mad(below, z, 0.4505951f);
    below = mad(below, z, 1.0f);
    return IsNan(x) ? x : a * above / below;
}
