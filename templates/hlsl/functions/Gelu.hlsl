// x times the standard normal distribution function: max(x, 0) - |x| Q(|x|) e^(-x^2/2). This avoids cancellation for
// negative x, where 0.5 x (1 + erf(x / sqrt(2))) has no correct digit left below -5. The square is split in two parts,
// the first of which has half as many bits. In this order of factors nothing becomes subnormal before the result does.
// Error at most 7.5 ulp (float), 9 ulp (double), as measured.

float Gelu(float x)
{
    const float magnitude = Magnitude(x);
    const float a = magnitude < 15.0f ? magnitude : 15.0f;
    const float high = FromBits(Bits(a) & 0xfffff000u);
    const float low = (a - high) * (a + high);
    const float power = ExpFused(-0.5f * high * high, -0.5f * low);
    DXIL_PRECISE const float result = (x > 0.0f ? x : 0.0f) - a * NormalTail(a) * power;
    return IsNan(x) || x == 0.0f ? x : result;
}

double Gelu(double x)
{
    if (IsNan(x) || x == 0.0L)
        return x;
    const double magnitude = Magnitude(x);
    const double a = magnitude < 39.0L ? magnitude : 39.0L;
    const double high = FromBits(Bits(a) & 0xfffffffff8000000ull);
    const double low = (a - high) * (a + high);
    const double power = ExpOfSum(-0.5L * high * high, -0.5L * low);
    DXIL_PRECISE const double result = (x > 0.0L ? x : 0.0L) - a * NormalTail(a) * power;
    return result;
}
