// The hyperbolic cosine.
// Error at most 0.5001 ulp, over all float16 values.

float Cosh(float x)
{
    const float power = Exp(Magnitude(x));
    return 0.5f * (power + 1.0f / power);
}
