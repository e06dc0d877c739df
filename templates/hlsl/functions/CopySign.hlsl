// The magnitude of the first argument with the sign of the second.
// for SIGN: 0x80000000u, 0x8000000000000000ull

REAL CopySign(REAL magnitude, REAL sign)
{
    return FromBits((Bits(magnitude) & MAGNITUDE) | (Bits(sign) & SIGN));
}
