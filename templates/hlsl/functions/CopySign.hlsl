// The magnitude of the first argument with the sign of the second.
// needs: Bits FromBits

float CopySign(float magnitude, float sign)
{
    return FromBits((Bits(magnitude) & 0x7fffffffu) | (Bits(sign) & 0x80000000u));
}

double CopySign(double magnitude, double sign)
{
    return FromBits((Bits(magnitude) & 0x7fffffffffffffffull) | (Bits(sign) & 0x8000000000000000ull));
}
