// Integers that sort like the numbers, with -0 below +0. Exact for subnormals, even on drivers that flush them.

INTEGER Order(REAL x)
{
    const INTEGER bits = (INTEGER)Bits(x);
    return bits ^ (INTEGER)((WORD)(bits >> (WORD_BITS - 1)) & MAGNITUDE);
}
