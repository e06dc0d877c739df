// a - b floor(a / b); the sign is that of b, of zeros too. Where a and b differ in sign, the exact remainder is added
// to b, and that sum is rounded (once): it may be b itself. Small numbers are added as 2^64 times as large ones, since
// drivers may take a subnormal remainder for 0.
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
