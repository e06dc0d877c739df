// The cosine of x radians, of any size; NaN for infinities.
// Error at most 0.85 ulp (float), 0.8 ulp (double), as measured.
// needs: CosNearZero IsInfinity IsNan Magnitude QuietNan ReduceAngle SinNearZero

float Cos(float x)
{
    if (IsNan(x) || IsInfinity(x))
        return QuietNan(x);
    float low;
    uint quadrant;
    const float angle = ReduceAngle(Magnitude(x), low, quadrant);
    const float result = (quadrant & 1) != 0 ? SinNearZero(angle, low) : CosNearZero(angle, low);
    return ((quadrant + 1) & 2) != 0 ? -result : result;
}

double Cos(double x)
{
    if (IsNan(x) || IsInfinity(x))
        return QuietNan(x);
    double low;
    uint quadrant;
    const double angle = ReduceAngle(Magnitude(x), low, quadrant);
    const double result = (quadrant & 1) != 0 ? SinNearZero(angle, low) : CosNearZero(angle, low);
    return ((quadrant + 1) & 2) != 0 ? -result : result;
}
