// ln(1 + e^x) = max(x, 0) + ln(1 + u) for u = e^-|x|. Float: with s = u / (2 + u) the logarithm is 2 artanh(s), a
// minimax polynomial (scripts/minimax.py), and 2 s = u - s u: an inexact division hardly matters.
// Error at most 2 ulp (float), 1.5 ulp (double), as measured.

float Softplus(float x)
{
    const float u = ExpFused(-min(Magnitude(x), 105.0f), 0.0f);
    const float s = u / (2.0f + u);
    const float z = s * s;
    float p = 0.14004912f;
    p = mad(p, z, 0.14001123f);
    p = mad(p, z, 0.2001075f);
    p = mad(p, z, 0.3333321f);
    DXIL_PRECISE const float logarithm = mad(-s, mad(-2.0f * z, p, u), u);
    return IsNan(x) ? x : max(x, 0.0f) + logarithm;
}

double Softplus(double x)
{
    return IsNan(x) ? x : (x > 0.0L ? x : 0.0L) + Log1p(Exp(-Magnitude(x)));
}
