// The NaN of a function outside its domain. The argument only chooses the type.
// for QUIET_NAN: 0x7fc00000u, 0x7ff8000000000000ull
// needs: FromBits

REAL QuietNan(REAL x)
{
    return FromBits(QUIET_NAN);
}
