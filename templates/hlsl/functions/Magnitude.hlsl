// |x|, from the bit pattern: NaN stays NaN, and no driver flushes a subnormal.

REAL Magnitude(REAL x)
{
    return FromBits(Bits(x) & MAGNITUDE);
}
