// The smaller of two numbers; NaN if either is. Min(-0, +0) is -0 in either order (maximum and minimum of IEEE
// 754-2019), so that the result of a reduction does not depend on its order. Exact.
// needs: IsNan Order

REAL Min(REAL a, REAL b)
{
    const bool isGreater = Order(a) > Order(b);
    return (uint)!IsNan(a) & ((uint)IsNan(b) | (uint)isGreater) ? b : a;  // cheaper than branches
}
