// Integers in the order of the numbers, -0 below +0. Exact for subnormals on drivers that flush them, too.
// for SIGN: 0x80000000u, 0x8000000000000000ull
// needs: Bits

INTEGER Order(REAL x)
{
    const INTEGER bits = (INTEGER)Bits(x);
    return bits < 0 ? (INTEGER)SIGN - bits - 1 : bits;
}
