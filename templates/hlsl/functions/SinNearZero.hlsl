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
