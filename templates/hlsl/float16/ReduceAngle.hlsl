// x minus the nearest multiple of pi / 2; quadrant is that multiple modulo 4. Up to 65536, which covers float16, pi
// / 2 is subtracted in four parts, the first three so short that their products with k < 2^16 are exact, fused or not.

float ReduceAngle(float x, out float low, out uint quadrant)
{
    // Adding 1.5 * 2^23 rounds a small number to an integer in the lowest bits.
    const float shifted = mad(x, 0.63661975f, 12582912.0f);
    const float k = Magnitude(shifted) - 12582912.0f;  // Magnitude keeps compilers from cancelling the addition
    const float above = mad(k, -0.00048828125f, KeptApart(mad(k, -1.5703125f, x), shifted));
    low = 0.0f;
    quadrant = Bits(shifted);
    return AngleBeyond(65536.0f, x, mad(k, 4.371139e-8f, mad(k, 4.4107437e-6f, above)), low, quadrant);
}
