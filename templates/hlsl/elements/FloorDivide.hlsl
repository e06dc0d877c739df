// The quotient of integers, rounded down, for a positive divisor
int FloorDivide(int dividend, int divisor)
{
    return dividend >= 0 ? dividend / divisor : -((divisor - 1 - dividend) / divisor);
}
