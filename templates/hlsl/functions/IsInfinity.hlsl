// Whether x is infinite, of either sign; on the bit pattern, since a compiler may assume finite numbers.
// needs: Bits

bool IsInfinity(float x)
{
    return (Bits(x) & 0x7fffffffu) == 0x7f800000u;
}

bool IsInfinity(double x)
{
    return (Bits(x) & 0x7fffffffffffffffull) == 0x7ff0000000000000ull;
}
