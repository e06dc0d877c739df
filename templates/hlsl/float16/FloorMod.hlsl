// a - b floor(a / b), with the sign of b even for zeros. If a and b differ in sign, the exact remainder is added to b,
// and the sum is rounded.

float FloorMod(float a, float b)
{
    const float remainder = Magnitude(Fmod(a, b));
    const bool isTurned = (Bits(a) ^ Bits(b)) >= 0x80000000u && remainder != 0.0f;
    return CopySign(isTurned ? Magnitude(b) - remainder : remainder, b);
}
