// a - b floor(a / b), with the sign of b even for zeros. If a and b differ in sign, the exact remainder is added to b,
// and the sum is rounded (once): it may be b itself. Small numbers are scaled by 2^64 for this addition, since drivers
// may flush a subnormal remainder, which makes no difference next to larger ones.
// for LEAST_UNRAISED: 7.888609e-31f, 6.413338752028713e-291L
// for LEAST_RAISED: 2.5849394e-26f, 9.113902524445497e-305L

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
    DXIL_PRECISE REAL sum = remainder + b;
    [branch]
    if (Magnitude(b) < LEAST_UNRAISED)
        sum = (Raised(remainder) + Raised(b)) * 5.421010862427522e-20f;
    return sum;
}
