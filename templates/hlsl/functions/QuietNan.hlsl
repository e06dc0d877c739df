// The NaN of a function outside its domain. The argument only chooses the type.
// needs: FromBits

float QuietNan(float x)
{
    return FromBits(0x7fc00000u);
}

double QuietNan(double x)
{
    return FromBits(0x7ff8000000000000ull);
}
