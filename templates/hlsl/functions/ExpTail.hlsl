// e^x - 1 - x for |x| up to 0.3475: a minimax polynomial (Remez exchange), within 2^-28 (float), 2^-61 (double) of e^x
// - 1

float ExpTail(float x)
{
    float p = 0.0013814162f;
    p = p * x + 0.008368897f;
    p = p * x + 0.041668408f;
    p = p * x + 0.1666652f;
    p = p * x + 0.49999993f;
    return p * (x * x);
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
