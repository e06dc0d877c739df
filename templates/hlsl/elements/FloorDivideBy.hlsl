// The quotient of integers rounded down, for a positive divisor, by way of its reciprocal (2^31 - 1) / divisor rounded
// down. That is below 2^31 / divisor by 1 at most, so the estimate falls short of the quotient by at most 1. For a
// negative dividend the result is the complement of the quotient of its complement.
int FloorDivideBy(int dividend, int divisor, int reciprocal)
{
    const int sign = dividend >> 31;
    const uint positive = (uint)(dividend ^ sign);
    const uint below = (uint)(((uint64_t)(2 * positive) * (uint)reciprocal) >> 32);
    return (int)(positive - below * (uint)divisor >= (uint)divisor ? below + 1 : below) ^ sign;
}
