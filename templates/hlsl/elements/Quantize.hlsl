// Rounds to the nearest integer, ties to even, and clamps to [lowest, highest]; 0 for NaN
float Quantize(float x, int lowest, int highest)
{
    return IsNan(x) ? 0 : min(max(RoundEven(x), (float)lowest), (float)highest);
}
int Quantize(int x, int lowest, int highest) { return clamp(x, lowest, highest); }
