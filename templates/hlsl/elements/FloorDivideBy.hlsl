// The quotient of integers, rounded down, for a positive divisor, from its reciprocal (2^31 - 1) / divisor, rounded down,
// too. That is too small by 1 / 2^31 at most, so that the product is too small by less than 1. For a negative dividend it
// is the complement of the quotient of its complement.
int FloorDivideBy(int dividend, int divisor, int reciprocal)
{
    const int sign = dividend >> 31;
    const uint positive = (uint)(dividend ^ sign);
    const uint below = (uint)(((uint64_t)(2 * positive) * (uint)reciprocal) >> 32);
    return (int)(positive - below * (uint)divisor >= (uint)divisor ? below + 1 : below) ^ sign;
}
