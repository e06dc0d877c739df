// x times the reciprocal of y, both correctly rounded, then rounded to an integer, ties to even. The hardware's quotient
// is within 4 ulp of that product, so the product is only needed next to where that integer changes, and for divisors of
// extreme magnitude, which drivers may flush.
float RoundedByReciprocal(float x, float y)
{
    const float quotient = x / y;
    float result = RoundEven(quotient);
    const bool isClear = 0.5f - Magnitude(quotient - result) > 9.536743e-7f * Magnitude(quotient);
    const bool isUsual = Magnitude(y) > 7.888609e-31f && Magnitude(y) < 1.2676506e30f;
    [branch]
    if (!isClear || !isUsual)
        result = RoundEven(x * Divide(1.0f, y));
    return result;
}
double RoundedByReciprocal(double x, double y) { return RoundEven(x * Divide(1.0, y)); }
