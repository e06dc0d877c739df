// |x|, from the bit pattern: NaN stays NaN, and no driver flushes a subnormal.
// needs: Bits FromBits

float Magnitude(float x)
{
    return FromBits(Bits(x) & 0x7fffffffu);
}

double Magnitude(double x)
{
    return FromBits(Bits(x) & 0x7fffffffffffffffull);
}
