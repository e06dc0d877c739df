// ln((1 + f) 2^exponent) + low for 1 + f from the root of 1/2 to the root of 2. With s = f / (2 + f) the logarithm of 1
// + f is 2 artanh(s), and 2 s = f - s f: a division that is slightly off hardly shows (series: Muller, "Elementary
// Functions").
// for THIRD: 0.33333334f, 0.3333333333333333L
// needs: AtanhTail

REAL LogOfParts(REAL f, int exponent, REAL low)
{
    const REAL k = (REAL)exponent;
    precise REAL s = f / (2.0f + f);
    const REAL z = s * s;
    precise REAL tail = 2.0f * z * (THIRD + z * AtanhTail(z));
    precise REAL small = s * (f - tail) - (k * LN2_LOW + low);
    precise REAL result = k * LN2_HIGH + (f - small);  // the product is exact
    return result;
}
