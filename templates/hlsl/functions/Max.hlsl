// The larger of two numbers; NaN if either is. Max(-0, +0) is +0 in either order (maximum and minimum of IEEE
// 754-2019), so that the result of a reduction does not depend on its order. Exact. Counted up from -infinity, in
// unsigned words that wrap around, NaN of either sign comes last.

REAL Max(REAL a, REAL b)
{
    return (WORD)Order(a) + (INFINITY + 1) < (WORD)Order(b) + (INFINITY + 1) ? b : a;
}
