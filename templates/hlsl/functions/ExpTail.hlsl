// e^x - 1 - x for |x| up to 0.3475: a minimax polynomial (Remez exchange), within 2^-31 (float), 2^-61 (double) of e^x
// - 1

float ExpTail(float x)
{
    float p = 0.00019845527f;
    p = p * x + 0.0013940894f;
    p = p * x + 0.008333391f;
    p = p * x + 0.04166636f;
    p = p * x + 0.16666666f;
    p = p * x + 0.5f;
    return p * x * x;
}

double ExpTail(double x)
{
    double p = 2.087532630839128e-09L;
    p = p * x + 2.5109272016600348e-08L;
    p = p * x + 2.755740349209141e-07L;
    p = p * x + 2.7557243600914927e-06L;
    p = p * x + 2.4801587170549516e-05L;
    p = p * x + 0.0001984126988666018L;
    p = p * x + 0.0013888888888963888L;
    p = p * x + 0.00833333333332145L;
    p = p * x + 0.041666666666666505L;
    p = p * x + 0.16666666666666677L;
    p = p * x + 0.5L;
    return p * x * x;
}
