// x limited to 0 and 1; NaN stays NaN, and -0 becomes +0. Exact.

REAL Saturate(REAL x)
{
    return IsNan(x) ? x : x > (REAL)0 ? min(x, (REAL)1) : (REAL)0;
}
