// (arcsin(x) - x) / x for z = x^2 up to 1/4: a minimax polynomial (Remez exchange), within 2^-31 (float), 2^-59
// (double) of arcsin(x) / x.

float AsinTail(float z)
{
    float p = 0.0375891f;
    p = p * z + 0.014386791f;
    p = p * z + 0.031821452f;
    p = p * z + 0.044515304f;
    p = p * z + 0.07500513f;
    p = p * z + 0.1666666f;
    return p * z;
}

double AsinTail(double z)
{
    double p = 0.03272774208891934L;
    p = p * z - 0.02115669629912615L;
    p = p * z + 0.02181822840081365L;
    p = p * z + 0.0036611297886109976L;
    p = p * z + 0.01079217179404742L;
    p = p * z + 0.011396798456322209L;
    p = p * z + 0.013981077209343403L;
    p = p * z + 0.017351590760463352L;
    p = p * z + 0.022372216160673117L;
    p = p * z + 0.030381942666579603L;
    p = p * z + 0.044642857175459794L;
    p = p * z + 0.07499999999969925L;
    p = p * z + 0.16666666666666763L;
    return p * z;
}
