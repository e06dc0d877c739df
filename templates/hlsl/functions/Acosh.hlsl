// The inverse hyperbolic cosine, ln(1 + (t + sqrt(2 t + t^2))) for t = x - 1; ln(2 x) for large x; NaN below 1.
// Error at most 2.5 ulp (float), 2.6 ulp (double), as measured.

REAL Acosh(REAL x)
{
    if (IsNan(x))
        return x;
    if (x < 1.0f)
        return QuietNan(x);
    if (x > WITHOUT_ONE)
        return Log(x) + LN2;
    const REAL t = x - 1.0f;
    return Log1p(t + Sqrt(2.0f * t + t * t));
}
