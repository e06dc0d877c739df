// x / y, correctly rounded, then rounded to an integer, ties to even. The exact quotient is only needed next to where
// that integer changes, and for divisors of extreme magnitude, which drivers may flush.
float RoundedQuotient(float x, float y)
{
    const float quotient = x / y;
    float result = RoundEven(quotient);
    const bool isClear = 0.5f - Magnitude(quotient - result) > 9.536743e-7f * Magnitude(quotient);
    const bool isUsual = Magnitude(y) > 7.888609e-31f && Magnitude(y) < 1.2676506e30f;
    [branch]
    if (!isClear || !isUsual)
        result = RoundEven(Divide(x, y));
    return result;
}
double RoundedQuotient(double x, double y) { return RoundEven(Divide(x, y)); }
