// Passes on the angle, low and quadrant that a faster reduction found for x; beyond its limit they come from
// ReduceLargeAngle instead, and NaN if x is NaN or infinite.

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
