// The larger of two numbers; NaN if either is. Max(-0, +0) is +0 in either order (maximum and minimum of IEEE
// 754-2019), so that the result of a reduction does not depend on its order. Exact.
// needs: IsNan Order

REAL Max(REAL a, REAL b)
{
    const bool isLess = Order(a) < Order(b);
    return (uint)!IsNan(a) & ((uint)IsNan(b) | (uint)isLess) ? b : a;  // cheaper than branches
}
