// The nearest integer, ties to even, with the sign of x. Exact. Adding and subtracting 2^52 leaves a double no bits for
// a fraction.

float RoundEven(float x)
{
    return round(x);
}

double RoundEven(double x)
{
    const double magnitude = Magnitude(x);
    if (!(magnitude < 4503599627370496.0L))
        return x;
    precise double rounded = magnitude + 4503599627370496.0L;
    rounded = rounded - 4503599627370496.0L;
    return CopySign(rounded, x);
}
