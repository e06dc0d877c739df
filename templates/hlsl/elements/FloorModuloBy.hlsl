// needs: FloorDivideBy
// The remainder of integers, 0 or more, for a positive divisor, from its reciprocal
int FloorModuloBy(int dividend, int divisor, int reciprocal)
{
    return dividend - FloorDivideBy(dividend, divisor, reciprocal) * divisor;
}
