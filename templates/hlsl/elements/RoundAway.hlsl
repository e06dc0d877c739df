// The nearest integer, ties away from 0
REAL RoundAway(REAL x)
{
    const REAL whole = Trunc(x);
    return Magnitude(x - whole) >= 0.5f ? whole + CopySign(1.0f, x) : whole;
}
