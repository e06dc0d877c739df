// Integers that sort like the numbers, with -0 below +0. Exact for subnormals, even on drivers that flush them.
// for SIGN: 0x80000000u, 0x8000000000000000ull
// needs: Bits

INTEGER Order(REAL x)
{
    const INTEGER bits = (INTEGER)Bits(x);
    return bits < 0 ? (INTEGER)SIGN - bits - 1 : bits;
}
