// cos(high) for |high| up to pi / 4: a minimax polynomial in the square, within 2^-24 (scripts/minimax.py).

float CosNearZero(float high, float low)
{
    const float z = high * high;
    return mad(z, mad(z, mad(-0.0013591725f, z, 0.041655768f), -0.49999885f), 1.0f);
}
