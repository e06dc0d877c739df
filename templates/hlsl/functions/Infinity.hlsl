// Infinity with the sign of the argument.
// needs: CopySign FromBits

REAL Infinity(REAL sign)
{
    return CopySign(FromBits(INFINITY), sign);
}
