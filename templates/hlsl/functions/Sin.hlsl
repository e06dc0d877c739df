// The sine of x radians, of any size; NaN for infinities.
// Error at most 0.8 ulp (float), 0.8 ulp (double), as measured.
// needs: CosNearZero IsInfinity IsNan Magnitude QuietNan ReduceAngle SinNearZero

REAL Sin(REAL x)
{
    if (IsNan(x) || IsInfinity(x))
        return QuietNan(x);
    if (x == 0.0f)
        return x;
    REAL low;
    uint quadrant;
    const REAL angle = ReduceAngle(Magnitude(x), low, quadrant);
    const REAL result = (quadrant & 1) != 0 ? CosNearZero(angle, low) : SinNearZero(angle, low);
    return ((quadrant & 2) != 0) != (x < 0.0f) ? -result : result;
}
