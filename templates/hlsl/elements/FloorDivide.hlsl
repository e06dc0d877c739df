// The quotient of integers rounded down, for a positive divisor. For a negative dividend that is the complement of the
// truncated quotient of its complement.
int FloorDivide(int dividend, int divisor)
{
    const int sign = dividend >> 31;
    return (int)((uint)(dividend ^ sign) / (uint)divisor) ^ sign;
}
