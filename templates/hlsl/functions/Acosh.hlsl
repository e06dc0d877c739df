// The inverse hyperbolic cosine, ln(1 + (t + sqrt(2 t + t^2))) for t = x - 1; ln(2 x) for large x; NaN below 1.
// Error at most 2.5 ulp, as measured.
// needs: IsNan Log Log1p QuietNan Sqrt

float Acosh(float x)
{
    if (IsNan(x))
        return x;
    if (x < 1.0f)
        return QuietNan(x);
    if (x > 4096.0f)
        return Log(x) + 0.6931472f;
    const float t = x - 1.0f;
    return Log1p(t + Sqrt(2.0f * t + t * t));
}
