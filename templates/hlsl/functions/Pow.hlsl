// x^y as in C: 1 for y = 0 or x = 1, whatever the other is; a negative x takes integers y, else NaN. The logarithm of
// |x| and its product with y as unevaluated sums of two numbers (2 artanh(s) as in LogOfParts; products after Dekker
// 1971), then ExpOfSum.
// Error at most 0.9 ulp (float), 1 ulp (double), as measured.
// needs: AtanhTail Bits CopySign ExpOfSum Infinity IsInfinity IsNan Magnitude NormalizeNearOne QuietNan Trunc
// needs: TwoProduct

float Pow(float x, float y)
{
    if (y == 0.0f || x == 1.0f)
        return 1.0f;
    if (IsNan(x) || IsNan(y))
        return QuietNan(x);

    const float xMagnitude = Magnitude(x);
    const bool isInteger = Trunc(y) == y;
    const float halved = 0.5f * y;
    const bool isOdd = isInteger && Trunc(halved) != halved;
    const float sign = isOdd ? x : 1.0f;
    if (xMagnitude == 0.0f || IsInfinity(x) || IsInfinity(y))
    {
        if (xMagnitude == 1.0f)
            return 1.0f;
        return (xMagnitude > 1.0f) == (y > 0.0f) ? Infinity(sign) : CopySign(0.0f, sign);
    }
    if (x < 0.0f && !isInteger)
        return QuietNan(x);

    // s = f / (2 + f) = sHigh + sLow, z = s^2
    int exponent;
    const float f = NormalizeNearOne(xMagnitude, exponent) - 1.0f;
    precise float divisor = 2.0f + f;
    precise float divisorLow = f - (divisor - 2.0f);
    precise float sHigh = f / divisor;
    float error;
    precise float product = TwoProduct(sHigh, divisor, error);
    precise float sLow = (((f - product) - error) - sHigh * divisorLow) / divisor;
    precise float zHigh = TwoProduct(sHigh, sHigh, error);
    precise float zLow = error + 2.0f * sHigh * sLow;

    // ln(1 + f) = 2 s + s u, u = z w, w = 2/3 + 2 z AtanhTail(z)
    precise float wRest = 2.0f * zHigh * AtanhTail(zHigh);
    precise float wHigh = 0.6666667f + wRest;
    precise float wLow = (wRest - (wHigh - 0.6666667f)) - 1.9868216e-8f;
    precise float uHigh = TwoProduct(zHigh, wHigh, error);
    precise float uLow = error + (zHigh * wLow + zLow * wHigh);
    precise float tailHigh = TwoProduct(sHigh, uHigh, error);
    precise float tailLow = error + (sHigh * uLow + sLow * uHigh);

    // The logarithm of |x|, largest terms first: each sum keeps what it rounds off.
    const float k = (float)exponent;
    precise float whole = k * 0.69314575f;  // exact
    precise float head = 2.0f * sHigh;
    precise float sum = whole + head;
    precise float sumLow = head - (sum - whole);
    precise float logHigh = sum + tailHigh;
    precise float logLow = (tailHigh - (logHigh - sum)) + sumLow + 2.0f * sLow + tailLow
        + k * 1.4286068e-6f;

    // Where the product is infinite, so is the power, or it is 0, whatever the low part is.
    precise float high = TwoProduct(y, logHigh, error);
    precise float low = error + y * logLow;
    return CopySign(ExpOfSum(high, low), sign);
}

double Pow(double x, double y)
{
    if (y == 0.0L || x == 1.0L)
        return 1.0L;
    if (IsNan(x) || IsNan(y))
        return QuietNan(x);

    const double xMagnitude = Magnitude(x);
    const bool isInteger = Trunc(y) == y;
    const double halved = 0.5L * y;
    const bool isOdd = isInteger && Trunc(halved) != halved;
    const double sign = isOdd ? x : 1.0L;
    if (xMagnitude == 0.0L || IsInfinity(x) || IsInfinity(y))
    {
        if (xMagnitude == 1.0L)
            return 1.0L;
        return (xMagnitude > 1.0L) == (y > 0.0L) ? Infinity(sign) : CopySign(0.0L, sign);
    }
    if (Bits(x) > 0x7fffffffffffffffull && !isInteger)  // a driver takes x < 0 for false where x is made of an integer
        return QuietNan(x);

    // s = f / (2 + f) = sHigh + sLow, z = s^2
    int exponent;
    const double f = NormalizeNearOne(xMagnitude, exponent) - 1.0L;
    precise double divisor = 2.0L + f;
    precise double divisorLow = f - (divisor - 2.0L);
    precise double sHigh = f / divisor;
    double error;
    precise double product = TwoProduct(sHigh, divisor, error);
    precise double sLow = (((f - product) - error) - sHigh * divisorLow) / divisor;
    precise double zHigh = TwoProduct(sHigh, sHigh, error);
    precise double zLow = error + 2.0L * sHigh * sLow;

    // ln(1 + f) = 2 s + s u, u = z w, w = 2/3 + 2 z AtanhTail(z)
    precise double wRest = 2.0L * zHigh * AtanhTail(zHigh);
    precise double wHigh = 0.6666666666666666L + wRest;
    precise double wLow = (wRest - (wHigh - 0.6666666666666666L)) + 3.700743415417188e-17L;
    precise double uHigh = TwoProduct(zHigh, wHigh, error);
    precise double uLow = error + (zHigh * wLow + zLow * wHigh);
    precise double tailHigh = TwoProduct(sHigh, uHigh, error);
    precise double tailLow = error + (sHigh * uLow + sLow * uHigh);

    // The logarithm of |x|, largest terms first: each sum keeps what it rounds off.
    const double k = (double)exponent;
    precise double whole = k * 0.6931471805598903L;  // exact
    precise double head = 2.0L * sHigh;
    precise double sum = whole + head;
    precise double sumLow = head - (sum - whole);
    precise double logHigh = sum + tailHigh;
    precise double logLow = (tailHigh - (logHigh - sum)) + sumLow + 2.0L * sLow + tailLow
        + k * 5.497923018708371e-14L;

    // Where the product is infinite, so is the power, or it is 0, whatever the low part is.
    precise double high = TwoProduct(y, logHigh, error);
    precise double low = error + y * logLow;
    return CopySign(ExpOfSum(high, low), sign);
}
