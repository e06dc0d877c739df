// ln((1 + f) 2^exponent) for 1 + f from sqrt(1/2) to sqrt(2): a minimax polynomial

float LogOfParts(float f, int exponent)
{
    float p = -0.10079938f;
    p = mad(p, f, 0.16179648f);
    p = mad(p, f, -0.17243628f);
    p = mad(p, f, 0.19906978f);
    p = mad(p, f, -0.24971204f);
    p = mad(p, f, 0.33334714f);
    p = mad(p, f, -0.5000032f);
    return mad((float)exponent, 0.6931472f, mad(f * f, p, f));
}
