// a - b floor(a / b), with the sign of b even for zeros. If a and b differ in sign, the exact remainder is added to b,
// and the sum is rounded (once): it may be b itself. Small numbers are scaled by 2^64 for this addition, since drivers
// may flush a subnormal remainder.
// for LEAST_RAISED: 2.5849394e-26f, 9.113902524445497e-305L
// needs: Bits CopySign Fmod IsNan Magnitude

// 2^64 x
REAL Raised(REAL x)
{
    const WORD bits = Bits(x) & MAGNITUDE;
    if (bits < LEAST_NORMAL)
        return CopySign((REAL)bits * LEAST_RAISED, x);
    return x * 18446744073709551616.0f;
}

REAL FloorMod(REAL a, REAL b)
{
    const REAL remainder = Fmod(a, b);
    const REAL withSign = CopySign(remainder, b);
    if (IsNan(remainder) || Bits(remainder) == Bits(withSign))
        return remainder;
    if (Bits(Magnitude(remainder)) == 0)
        return withSign;
    return Magnitude(b) < 1.0f ? (Raised(remainder) + Raised(b)) * 5.421010862427522e-20f : remainder + b;
}
