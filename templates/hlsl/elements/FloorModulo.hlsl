// The remainder of integers, never negative, for a positive divisor
int FloorModulo(int dividend, int divisor)
{
    [branch]
    if ((uint)dividend < (uint)divisor)  // the common case for periodic indices
        return dividend;
    return dividend - FloorDivide(dividend, divisor) * divisor;
}
