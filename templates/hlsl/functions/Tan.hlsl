// The tangent of x radians, of any size: the quotient of sine and cosine; NaN for infinities.
// Error at most 2.1 ulp (float), 2.15 ulp (double), as measured; 2.9 ulp (float) on an H200, whose quotients are less
// accurate.

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

double Tan(double x)
{
    double low;
    uint quadrant;
    const double angle = ReduceAngle(x, low, quadrant);
    const double sine = SinNearZero(angle, low);
    const double cosine = CosNearZero(angle, low);
    const bool isOdd = (quadrant & 1) != 0;
    DXIL_PRECISE const double result = Divide(isOdd ? -cosine : sine, isOdd ? sine : cosine);
    return Magnitude(x) < 1e-9L ? x : result;
}
