// The quotient of integers, rounded down, for a positive divisor: as rounding toward 0 of the other bits
int FloorDivide(int dividend, int divisor)
{
    [branch]
    if (divisor == 1)  // as most steps are
        return dividend;
    const int sign = dividend >> 31;
    return (int)((uint)(dividend ^ sign) / (uint)divisor) ^ sign;
}
