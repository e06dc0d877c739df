// Passes on the angle, low and quadrant that a faster reduction found for x; beyond its limit they come from
// ReduceLargeAngle instead, and NaN if x is NaN or infinite.
// needs: Bits Magnitude QuietNan ReduceLargeAngle

float AngleBeyond(float limit, float x, float angle, inout float low, inout uint quadrant)
{
    [branch]
    if ((Bits(x) & 0x7fffffffu) > Bits(limit))
    {
        angle = ReduceLargeAngle(Magnitude(x), low, quadrant);
        angle = (Bits(x) & 0x7fffffffu) >= 0x7f800000u ? QuietNan(x) : x < 0.0f ? -angle : angle;
        low = x < 0.0f ? -low : low;
        quadrant = x < 0.0f ? 0 - quadrant : quadrant;
    }
    return angle;
}
