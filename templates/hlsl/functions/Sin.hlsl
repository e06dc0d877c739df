// The sine of x radians, of any size; NaN for infinities.
// Error at most 0.8 ulp (float), 0.8 ulp (double), as measured.
// needs: CosNearZero IsInfinity IsNan Magnitude QuietNan ReduceAngle SinNearZero

float Sin(float x)
{
    if (IsNan(x) || IsInfinity(x))
        return QuietNan(x);
    if (x == 0.0f)
        return x;
    float low;
    uint quadrant;
    const float angle = ReduceAngle(Magnitude(x), low, quadrant);
    const float result = (quadrant & 1) != 0 ? CosNearZero(angle, low) : SinNearZero(angle, low);
    return ((quadrant & 2) != 0) != (x < 0.0f) ? -result : result;
}

double Sin(double x)
{
    if (IsNan(x) || IsInfinity(x))
        return QuietNan(x);
    if (x == 0.0L)
        return x;
    double low;
    uint quadrant;
    const double angle = ReduceAngle(Magnitude(x), low, quadrant);
    const double result = (quadrant & 1) != 0 ? CosNearZero(angle, low) : SinNearZero(angle, low);
    return ((quadrant & 2) != 0) != (x < 0.0L) ? -result : result;
}
