// x times the standard normal distribution function, without cancellation for negative x
// Error at most 0.504 ulp, over all float16 values.

float Gelu(float x)
{
    const float a = min(Magnitude(x), 7.0f);
    const float result = max(x, 0.0f) - a * NormalTail(a) * exp2(-0.72134752f * a * a);
    return IsNan(x) || x == 0.0f ? x : result;
}
