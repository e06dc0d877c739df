// The remainder of integers, never negative, for a positive divisor, by way of its reciprocal
int FloorModuloBy(int dividend, int divisor, int reciprocal)
{
    return dividend - FloorDivideBy(dividend, divisor, reciprocal) * divisor;
}
