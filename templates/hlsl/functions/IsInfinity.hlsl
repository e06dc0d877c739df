// Whether x is infinite, of either sign; tests the bit pattern, since a compiler may assume finite numbers.

bool IsInfinity(REAL x)
{
    return (Bits(x) & MAGNITUDE) == INFINITY;
}
