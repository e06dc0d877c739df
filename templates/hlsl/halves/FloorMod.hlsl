// a - b floor(a / b), with the sign of b even for zeros. If a and b differ in sign, the exact remainder is added to b,
// and the sum is rounded.
// needs: Bits CopySign Fmod IsNan Magnitude

float FloorMod(float a, float b)
{
    const float remainder = Fmod(a, b);
    const float withSign = CopySign(remainder, b);
    const bool isDone = Bits(remainder) == Bits(withSign) || Bits(Magnitude(remainder)) - 1 >= 0x7f800000u;
    return isDone ? (IsNan(remainder) ? remainder : withSign) : remainder + b;
}
