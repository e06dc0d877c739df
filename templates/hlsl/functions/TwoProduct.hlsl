// a * b as a rounded product and its rounding error (Dekker 1971, "A floating-point technique for extending the
// available precision"; the operands are split by a mask). Without fma, which Vulkan allows to round twice. Exact for
// float, to 2^-105 of the product for double, unless the error is subnormal.
// for UPPER_HALF: 0xfffff000u, 0xfffffffff8000000ull

REAL TwoProduct(REAL a, REAL b, out REAL error)
{
    precise REAL aHigh = FromBits(Bits(a) & UPPER_HALF);
    precise REAL bHigh = FromBits(Bits(b) & UPPER_HALF);
    precise REAL aLow = a - aHigh;
    precise REAL bLow = b - bHigh;
    precise REAL product = a * b;
    precise REAL rest = ((aHigh * bHigh - product) + aHigh * bLow + aLow * bHigh) + aLow * bLow;
    error = rest;
    return product;
}
