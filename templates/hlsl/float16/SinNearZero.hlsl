// sin(high) for |high| up to pi / 4: a minimax polynomial in the square, within 2^-19 (scripts/minimax.py).

float SinNearZero(float high, float low)
{
    const float z = high * high;
    return mad(high * z, mad(0.008163237f, z, -0.16663389f), high);
}
