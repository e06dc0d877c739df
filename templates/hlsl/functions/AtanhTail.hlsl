// (artanh(s) - s - s^3 / 3) / s^5 as a function of z = s^2, for z up to 0.0297: a minimax polynomial (Remez exchange).
// artanh(s) is within 2^-36 (float), 2^-73 (double) with it.

float AtanhTail(float z)
{
    float p = 0.11715452f;
    p = p * z + 0.1427332f;
    p = p * z + 0.20000078f;
    return p;
}

double AtanhTail(double z)
{
    double p = 0.06002323929555178L;
    p = p * z + 0.0583646763384448L;
    p = p * z + 0.06668205245307801L;
    p = p * z + 0.07692277221948941L;
    p = p * z + 0.09090909453005394L;
    p = p * z + 0.11111111108622264L;
    p = p * z + 0.14285714285723158L;
    p = p * z + 0.19999999999999987L;
    return p;
}
