// x minus the nearest multiple of pi / 2, as a sum result + low; quadrant is that multiple modulo 4. NaN for infinities
// and NaN. Float: up to 1600, pi / 2 is subtracted in four parts (Cody and Waite 1980, "Software Manual for the
// Elementary Functions"), the first three so short that their products with k < 2^10 are exact, fused or not. What each
// difference loses to rounding is kept. The relative error of the remainder is 2^-28 even next to the multiples, where
// it is 2^-27 at least.

float ReduceAngle(float x, out float low, out uint quadrant)
{
    const float k = round(x * 0.63661975f);
    const float exact = mad(k, -1.5708008f, x);
    const float first = LessExact(mad(k, 4.455447e-6f, exact));
    const float rest = mad(k, -9.922587e-10f, mad(k, 4.455447e-6f, exact - first));
    const float angle = LessExact(first + rest);
    low = mad(k, 1.6513996e-13f, (first - angle) + rest);
    quadrant = (uint)(int)k;
    return AngleBeyond(1600.0f, x, angle, low, quadrant);
}

double ReduceAngle(double x, out double low, out uint quadrant)
{
    low = 0.0L;
    quadrant = 0;
    return AngleBeyond(0.0L, x, x, low, quadrant);
}
