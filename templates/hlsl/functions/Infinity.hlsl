// Infinity with the sign of the argument.

REAL Infinity(REAL sign)
{
    return CopySign(FromBits(INFINITY), sign);
}
