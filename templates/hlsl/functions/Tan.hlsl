// The tangent of x radians, of any size: the quotient of sine and cosine; NaN for infinities.
// Error at most 2.1 ulp, as measured; 2.9 ulp on an H200, whose quotients are less accurate.
// needs: CosNearZero Magnitude ReduceAngle SinNearZero

float Tan(float x)
{
    float low;
    uint quadrant;
    const float angle = ReduceAngle(x, low, quadrant);
    const float sine = SinNearZero(angle, low);
    const float cosine = CosNearZero(angle, low);
    const bool isOdd = (quadrant & 1) != 0;
    DXIL_PRECISE const float result = (isOdd ? -cosine : sine) / (isOdd ? sine : cosine);
    return Magnitude(x) < 1e-9f ? x : result;
}
