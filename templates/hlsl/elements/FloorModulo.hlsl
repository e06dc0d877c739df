// needs: FloorDivide
// The remainder of integers, 0 or more, for a positive divisor
int FloorModulo(int dividend, int divisor)
{
    [branch]
    if ((uint)dividend < (uint)divisor)  // as nearly all are, where there is a period
        return dividend;
    return dividend - FloorDivide(dividend, divisor) * divisor;
}
