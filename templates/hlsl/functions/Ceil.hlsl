// The smallest integer not below x; -0 for a negative x that rounds to 0. Exact.

float Ceil(float x)
{
    return ceil(x);
}

double Ceil(double x)
{
    const double whole = Trunc(x);
    return whole < x ? whole + 1.0L : whole;
}
