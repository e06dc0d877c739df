// x^y, as Power, for a y that all elements share: squares and cubes are products.
REAL PowerBy(REAL x, float y)
{
    if (y == 2.0f)
        return x * x;
    if (y == 3.0f)
        return x * x * x;
    return Power(x, y);
}
int PowerBy(int x, float y) { return Power(x, y); }
uint PowerBy(uint x, float y) { return Power(x, y); }
int64_t PowerBy(int64_t x, float y) { return Power(x, y); }
uint64_t PowerBy(uint64_t x, float y) { return Power(x, y); }
