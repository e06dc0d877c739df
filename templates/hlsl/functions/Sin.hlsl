// The sine of x radians, of any size; NaN for infinities.
// Error at most 0.85 ulp, as measured.
// needs: CosNearZero Magnitude ReduceAngle SinNearZero

float Sin(float x)
{
    float low;
    uint quadrant;
    const float angle = ReduceAngle(x, low, quadrant);
    const float sine = SinNearZero(angle, low);
    const float cosine = CosNearZero(angle, low);
    DXIL_PRECISE const float result = (quadrant & 1) != 0 ? cosine : sine;
    return Magnitude(x) < 1e-9f ? x : (quadrant & 2) != 0 ? -result : result;
}
