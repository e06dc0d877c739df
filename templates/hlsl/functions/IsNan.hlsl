// Whether x is not a number; on the bit pattern, since a compiler may take x != x for false.
// needs: Bits

bool IsNan(float x)
{
    return (Bits(x) & 0x7fffffffu) > 0x7f800000u;
}

bool IsNan(double x)
{
    return (Bits(x) & 0x7fffffffffffffffull) > 0x7ff0000000000000ull;
}
