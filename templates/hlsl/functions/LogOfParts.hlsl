// ln((1 + f) 2^exponent) + low for 1 + f from sqrt(1/2) to sqrt(2). With s = f / (2 + f) the logarithm of 1 + f is 2
// artanh(s), and 2 s = f - s f: an inexact division hardly matters (series: Muller, "Elementary Functions").

float LogOfParts(float f, int exponent, float low)
{
    const float k = (float)exponent;
    const float s = f / (2.0f + f);
    const float z = s * s;
    const float tail = 2.0f * z * mad(z, AtanhTail(z), 0.33333334f);
    const float small = mad(s, f - tail, -mad(k, 1.4286068e-6f, low));
    DXIL_PRECISE const float result = mad(k, 0.69314575f, f - small);  // the product is exact
    return result;
}

double LogOfParts(double f, int exponent, double low)
{
    const double k = (double)exponent;
    precise double s = f / (2.0L + f);
    const double z = s * s;
    precise double tail = 2.0L * z * (0.3333333333333333L + z * AtanhTail(z));
    precise double small = s * (f - tail) - (k * 5.497923018708371e-14L + low);
    precise double result = k * 0.6931471805598903L + (f - small);  // the product is exact
    return result;
}
