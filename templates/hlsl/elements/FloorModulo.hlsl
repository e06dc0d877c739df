// needs: FloorDivide
// The remainder of integers, 0 or more, for a positive divisor
int FloorModulo(int dividend, int divisor)
{
    return dividend - FloorDivide(dividend, divisor) * divisor;
}
