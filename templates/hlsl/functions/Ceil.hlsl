// The smallest integer not below x; -0 where it is zero and x negative. Exact.
// needs: Trunc

float Ceil(float x)
{
    return ceil(x);
}

double Ceil(double x)
{
    const double whole = Trunc(x);
    return whole < x ? whole + 1.0L : whole;
}
