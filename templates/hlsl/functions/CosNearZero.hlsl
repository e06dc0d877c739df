// cos(high + low) for |high + low| up to pi / 4: a minimax polynomial in the square (Remez exchange), plus what 1 -
// high^2 / 2 loses to rounding
// needs: LessExact

float CosNearZero(float high, float low)
{
    const float z = high * high;
    float p = 2.4437757e-5f;
    p = mad(p, z, -0.0013887362f);
    p = mad(p, z, 0.041666646f);
    const float head = LessExact(mad(-0.5f, z, 1.0f));
    return head + (mad(-0.5f, z, 1.0f - head) + mad(z * z, p, -high * low));
}
