// The largest integer not above x; -0 for -0. Exact.

float Floor(float x)
{
    return floor(x);
}

double Floor(double x)
{
    const double whole = Trunc(x);
    return whole > x ? whole - 1.0L : whole;
}
