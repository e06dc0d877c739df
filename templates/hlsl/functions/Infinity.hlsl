// Infinity with the sign of the argument.
// needs: CopySign FromBits

float Infinity(float sign)
{
    return CopySign(FromBits(0x7f800000u), sign);
}

double Infinity(double sign)
{
    return CopySign(FromBits(0x7ff0000000000000ull), sign);
}
