// x^y as in C: 1 for y = 0 or x = 1, whatever the other is; NaN for a negative x unless y is an integer. The logarithm
// of |x| and its product with y are unevaluated sums of two numbers (2 artanh(s) as in LogOfParts). Float: the first of
// the two has half as many bits, so that its products are exact, fused or not; double: products after Dekker 1971, then
// ExpOfSum.
// Error at most 1.25 ulp (float), 1 ulp (double), as measured.

// Handles all remaining x and y; `power` is |x|^y if `isInside`, unless x is 0 or infinite.
float PowElsewhere(float x, float y, bool isInside, float power)
{
    const uint bits = Bits(x) & 0x7fffffffu;
    if (y == 0.0f || Bits(x) == 0x3f800000u)
        return 1.0f;
    if (IsNan(x) || IsNan(y))
        return QuietNan(x);
    if (bits == 0x3f800000u)
        power = 1.0f;
    else if (!isInside || bits == 0 || bits == 0x7f800000u)
        power = FromBits((bits > 0x3f800000u) == (y > 0.0f) ? 0x7f800000u : 0);
    if (Bits(x) == bits)
        return power;

    // Half of an odd integer has a fraction of 1/2; half of an even one has none, nor has half of the least subnormal.
    const float halved = frac(0.5f * Magnitude(y));
    const bool isOdd = halved == 0.5f;
    const bool isInteger = isOdd || IsInfinity(y) || (halved == 0.0f && Magnitude(y) >= 1.0f);
    if (!isInteger && bits != 0 && bits != 0x7f800000u)
        return QuietNan(x);
    return CopySign(power, isOdd ? x : 1.0f);
}

float Pow(float x, float y)
{
    // |x| = (1 + f) 2^k, m = 1 + f
    const uint bits = Bits(x) & 0x7fffffffu;
    const bool isSubnormal = bits < 0x00800000u;
    const uint rest = (isSubnormal ? Bits((float)bits) : bits) - 0x3f3504f3u;
    const float k = (float)(((int)rest >> 23) - (isSubnormal ? 149 : 0));
    const float m = FromBits((rest & 0x007fffffu) + 0x3f3504f3u);
    const float f = m - 1.0f;

    // s = f / (2 + f) = head + tail, s^2 = square + squareTail; head and upper have 12 bits, so that their products are
    // exact. The argument of LessExact has few bits and loses none: the call only keeps the compiler from simplifying.
    const float inverse = 1.0f / (m + 1.0f);
    const float head = FromBits(Bits(f * inverse) & 0xfffff000u);
    const float upper = FromBits(Bits(m + 1.0f) & 0xfffff000u);
    const float rough = LessExact(mad(-head, upper, f));
    const float tail = mad(-head, m - (upper - 1.0f), rough) * inverse;
    const float square = head * head;
    const float squareTail = tail * mad(2.0f, head, tail);

    // log2(1 + f) = s (2.8955078 + wide + narrow); wide has no rounding error where it is large.
    const float z = square + squareTail;
    float p = 0.34020556f;
    p = mad(p, z, 0.41170706f);
    p = mad(p, z, 0.57708284f);
    p = mad(p, z, -0.03820332f);
    const float wide = square - 0.009765625f;
    const float narrow = mad(z, p, squareTail - 0.00035210572f);
    const float most = 2.8955078f * head;  // exact
    const float more = wide * head;
    const float least = mad(narrow, head, (2.8955078f + (wide + narrow)) * tail);

    // log2 |x| = logHead + logTail, y = yHead + yTail, both heads of 12 bits
    const float logHead = FromBits(Bits(k + (most + more)) & 0xfffff000u);
    const float logTail = (LessExact((k - logHead) + most) + more) + least;
    const float yHead = FromBits(Bits(y) & 0xfffff000u);
    const float high = yHead * logHead;
    const float low = mad(y - yHead, logHead, y * logTail);

    // 2^(high + low): adding 1.5 * 2^23 rounds a small number to an integer in the lowest bits. The remainder is small
    // enough that its power minus 1 loses little.
    const float shifted = KeptApart((high + low) - 0.085f, inverse) + 12582912.0f;
    const float above = KeptApart(high - (Magnitude(shifted) - 12582912.0f), inverse);
    const float part = above + low;
    float q = 0.0001624479f;
    q = mad(q, part, 0.0013381964f);
    q = mad(q, part, 0.009616025f);
    q = mad(q, part, 0.055503624f);
    q = mad(q, part, 0.24022662f);
    q = mad(q, part, 0.1931472f);
    const float fraction = 1.0f + mad(0.5f, above, mad(part, q, 0.5f * low));
    // In two steps, only the second of which can leave the range of floats
    const bool isLarge = high > 0.0f;
    const uint scaled = Bits(fraction) + (Bits(shifted) << 23) + (isLarge ? 0xe0000000u : 0x20000000u);
    DXIL_PRECISE const float power = FromBits(scaled) * (isLarge ? 1.8446744e19f : 5.421011e-20f);

    const bool isInside = (Bits(high) & 0x7fffffffu) < 0x43200000u;  // below 160, and not NaN
    const bool isPositive = Bits(x) - 1 < 0x7f7fffffu;  // also finite
    float result = power;
    [branch]
    if (!isInside || !isPositive)
        result = PowElsewhere(x, y, isInside, power);
    return result;
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
    if (Bits(x) > 0x7fffffffffffffffull && !isInteger)  // one driver finds x < 0 false if x comes from integer bits
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

    // The logarithm of |x|, largest terms first; each sum keeps its rounding error.
    const double k = (double)exponent;
    precise double whole = k * 0.6931471805598903L;  // exact
    precise double head = 2.0L * sHigh;
    precise double sum = whole + head;
    precise double sumLow = head - (sum - whole);
    precise double logHigh = sum + tailHigh;
    precise double logLow = (tailHigh - (logHigh - sum)) + sumLow + 2.0L * sLow + tailLow
        + k * 5.497923018708371e-14L;

    // If the product is infinite, the power is infinite or 0, whatever the low part is.
    precise double high = TwoProduct(y, logHigh, error);
    precise double low = error + y * logLow;
    return CopySign(ExpOfSum(high, low), sign);
}
