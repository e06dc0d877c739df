// The angle, low and quadrant that a shorter way has made of x; those of ReduceLargeAngle where |x| is above a limit,
// and NaN where x is none or infinite.
// needs: Bits Magnitude QuietNan ReduceLargeAngle

REAL AngleBeyond(REAL limit, REAL x, REAL angle, inout REAL low, inout uint quadrant)
{
    [branch]
    if ((Bits(x) & MAGNITUDE) > Bits(limit))
    {
        angle = ReduceLargeAngle(Magnitude(x), low, quadrant);
        angle = (Bits(x) & MAGNITUDE) >= INFINITY ? QuietNan(x) : x < 0.0f ? -angle : angle;
        low = x < 0.0f ? -low : low;
        quadrant = x < 0.0f ? 0 - quadrant : quadrant;
    }
    return angle;
}
