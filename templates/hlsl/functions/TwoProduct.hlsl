// a * b as a rounded product and its rounding error (Dekker 1971, "A floating-point technique for extending the
// available precision"; the operands are split by a mask). Not with fma: Vulkan lets it round twice. Exact for float,
// to 2^-105 of the product for double, unless the error is subnormal.
// needs: Bits FromBits

float TwoProduct(float a, float b, out float error)
{
    precise float aHigh = FromBits(Bits(a) & 0xfffff000u);
    precise float bHigh = FromBits(Bits(b) & 0xfffff000u);
    precise float aLow = a - aHigh;
    precise float bLow = b - bHigh;
    precise float product = a * b;
    precise float rest = ((aHigh * bHigh - product) + aHigh * bLow + aLow * bHigh) + aLow * bLow;
    error = rest;
    return product;
}

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
