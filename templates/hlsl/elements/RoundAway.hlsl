// The nearest integer, halves away from 0
// needs: CopySign Magnitude Trunc
float RoundAway(float x)
{
    const float whole = Trunc(x);
    return Magnitude(x - whole) >= 0.5f ? whole + CopySign(1.0f, x) : whole;
}
double RoundAway(double x)
{
    const double whole = Trunc(x);
    return Magnitude(x - whole) >= 0.5L ? whole + CopySign(1.0L, x) : whole;
}
