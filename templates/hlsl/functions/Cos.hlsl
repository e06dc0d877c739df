// The cosine of x radians, of any size; NaN for infinities.
// Error at most 0.85 ulp (float), 0.8 ulp (double), as measured.
// needs: CosNearZero IsInfinity IsNan Magnitude QuietNan ReduceAngle SinNearZero

REAL Cos(REAL x)
{
    if (IsNan(x) || IsInfinity(x))
        return QuietNan(x);
    REAL low;
    uint quadrant;
    const REAL angle = ReduceAngle(Magnitude(x), low, quadrant);
    const REAL result = (quadrant & 1) != 0 ? SinNearZero(angle, low) : CosNearZero(angle, low);
    return ((quadrant + 1) & 2) != 0 ? -result : result;
}
