// a - b floor(a / b); the sign is that of b, of zeros too. Where a and b differ in sign, the exact remainder is added
// to b, and that sum is rounded (once): it may be b itself.
// needs: Bits CopySign Fmod IsNan Magnitude

REAL FloorMod(REAL a, REAL b)
{
    const REAL remainder = Fmod(a, b);
    const REAL withSign = CopySign(remainder, b);
    if (IsNan(remainder) || Bits(remainder) == Bits(withSign))
        return remainder;
    return Bits(Magnitude(remainder)) == 0 ? withSign : remainder + b;
}
