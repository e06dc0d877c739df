// The NaN that functions return outside their domain. The argument only selects the type.
// for QUIET_NAN: 0x7fc00000u, 0x7ff8000000000000ull

REAL QuietNan(REAL x)
{
    return FromBits(QUIET_NAN);
}
