// ln(1 + x), accurate near 0; -infinity for -1, NaN below. What 1 + x loses to rounding is added back to first order.
// Error at most 0.95 ulp (float), 0.95 ulp (double), as measured.

float Log1p(float x)
{
    const bool isNear = x > -0.29f && x < 0.41f;
    const float sum = LessExact(1.0f + x);
    const float lost = x < 1.0f ? x - (sum - 1.0f) : 1.0f - (sum - x);
    const uint rest = Bits(sum) - 0x3f3504f3u;
    const float scaled = FromBits((rest & 0x007fffffu) + 0x3f3504f3u);
    const int exponent = isNear ? 0 : (int)rest >> 23;
    const float result = LogOfParts(isNear ? x : scaled - 1.0f, exponent, isNear ? 0.0f : lost / sum);
    const float outside = x < -1.0f ? QuietNan(x) : Infinity(-1.0f);
    const bool isItself = IsNan(x) || Bits(x) == 0x7f800000u || Magnitude(x) < 2.9802322e-8f;
    return isItself ? x : x <= -1.0f ? outside : result;
}

double Log1p(double x)
{
    if (IsNan(x) || Magnitude(x) < 5.551115123125783e-17L)
        return x;
    if (x <= -1.0L)
        return x < -1.0L ? QuietNan(x) : Infinity(x);
    if (IsInfinity(x))
        return x;
    if (x > -0.29L && x < 0.41L)
        return LogOfParts(x, 0, 0.0L);
    precise double sum = 1.0L + x;
    precise double lost = x < 1.0L ? x - (sum - 1.0L) : 1.0L - (sum - x);
    int exponent;
    const double scaled = NormalizeNearOne(sum, exponent);
    return LogOfParts(scaled - 1.0L, exponent, lost / sum);
}
