// x / y, correctly rounded, and then to an integer, the even one of two. How exact the quotient is matters only next to
// where the integer changes, and for divisors of extreme size, of which drivers may make 0.
// needs: Bits Divide Magnitude RoundEven
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
