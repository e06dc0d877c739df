// (arcsin(x) - x) / x for z = x^2 up to 1/4: a minimax polynomial (Remez exchange), within 2^-31 of
// arcsin(x) / x.

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
