// Whether x is NaN; tests the bit pattern, since a compiler may take x != x for false.

bool IsNan(REAL x)
{
    return (Bits(x) & MAGNITUDE) > INFINITY;
}
