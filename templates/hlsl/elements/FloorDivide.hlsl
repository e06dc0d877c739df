// The quotient of integers, rounded down, for a positive divisor: of the other bits, if it is negative, rounded toward 0
int FloorDivide(int dividend, int divisor)
{
    const int sign = dividend >> 31;
    return (int)((uint)(dividend ^ sign) / (uint)divisor) ^ sign;
}
