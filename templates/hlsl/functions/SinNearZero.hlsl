// sin(high + low) for |high + low| up to pi / 4: a minimax polynomial in the square (Remez exchange), summed from the
// smallest term up

float SinNearZero(float high, float low)
{
    const float z = high * high;
    float p = 2.7182377e-6f;
    p = mad(p, z, -0.00019839327f);
    p = mad(p, z, 0.008333329f);
    p = mad(p, z, -0.16666667f);
    return high + mad(high * z, p, low * mad(-0.5f, z, 1.0f));
}

double SinNearZero(double high, double low)
{
    const double z = high * high;
    double p = -7.578625636438898e-13L;
    p = p * z + 1.6058365196285643e-10L;
    p = p * z - 2.5052104900565653e-08L;
    p = p * z + 2.755731921414896e-06L;
    p = p * z - 0.0001984126984125499L;
    p = p * z + 0.008333333333333323L;
    p = p * z - 0.16666666666666666L;
    precise double result = high + (high * z * p + low * (1.0L - 0.5L * z));
    return result;
}
