// cos(high + low) for |high + low| up to pi / 4: a minimax polynomial in the square (Remez exchange), plus what 1 -
// high^2 / 2 loses to rounding

float CosNearZero(float high, float low)
{
    const float z = high * high;
    float p = 2.4437757e-5f;
    p = mad(p, z, -0.0013887362f);
    p = mad(p, z, 0.041666646f);
    const float head = LessExact(mad(-0.5f, z, 1.0f));
    return head + (mad(-0.5f, z, 1.0f - head) + mad(z * z, p, -high * low));
}

double CosNearZero(double high, double low)
{
    const double z = high * high;
    double p = -1.1359448245148653e-11L;
    p = p * z + 2.08757195604387e-09L;
    p = p * z - 2.755731432614939e-07L;
    p = p * z + 2.4801587289395865e-05L;
    p = p * z - 0.0013888888888873992L;
    p = p * z + 0.0416666666666666L;
    precise double halfSquare = 0.5L * z;
    precise double head = 1.0L - halfSquare;
    precise double result = head + (((1.0L - head) - halfSquare) + (z * z * p - high * low));
    return result;
}
