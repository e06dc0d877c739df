// The cosine of x radians, of any size; NaN for infinities.
// Error at most 0.85 ulp (float), 0.8 ulp (double), as measured.

REAL Cos(REAL x)
{
    REAL low;
    uint quadrant;
    const REAL angle = ReduceAngle(x, low, quadrant);
    const REAL sine = SinNearZero(angle, low);
    const REAL cosine = CosNearZero(angle, low);
    DXIL_PRECISE const REAL result = (quadrant & 1) != 0 ? sine : cosine;
    return ((quadrant + 1) & 2) != 0 ? -result : result;
}
