// Integers in the order of the numbers, -0 below +0. Exact for subnormals on drivers that flush them, too.
// needs: Bits

int Order(float x)
{
    const int bits = (int)Bits(x);
    return bits < 0 ? (int)0x80000000u - bits - 1 : bits;
}

int64_t Order(double x)
{
    const int64_t bits = (int64_t)Bits(x);
    return bits < 0 ? (int64_t)0x8000000000000000ull - bits - 1 : bits;
}
