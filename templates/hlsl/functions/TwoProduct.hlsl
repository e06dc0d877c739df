// a * b as a rounded product and its rounding error, to 2^-105 of the product unless it is subnormal (Dekker 1971, "A
// floating-point technique for extending the available precision"; the operands are split by a mask). Without fma,
// which Vulkan allows to round twice.
// needs: Bits FromBits

double TwoProduct(double a, double b, out double error)
{
    precise double aHigh = FromBits(Bits(a) & 0xfffffffff8000000ull);
    precise double bHigh = FromBits(Bits(b) & 0xfffffffff8000000ull);
    precise double aLow = a - aHigh;
    precise double bLow = b - bHigh;
    precise double product = a * b;
    precise double rest = ((aHigh * bHigh - product) + aHigh * bLow + aLow * bHigh) + aLow * bLow;
    error = rest;
    return product;
}
