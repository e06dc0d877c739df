// The upper half of the 128-bit product, exact, from products of 32-bit halves

uint64_t MultiplyHigh(uint64_t a, uint64_t b)
{
    const uint64_t aLow = (uint)a;
    const uint64_t aHigh = a >> 32;
    const uint64_t bLow = (uint)b;
    const uint64_t bHigh = b >> 32;
    const uint64_t middle = aHigh * bLow + (aLow * bLow >> 32);
    const uint64_t otherMiddle = aLow * bHigh + (uint)middle;
    return aHigh * bHigh + (middle >> 32) + (otherMiddle >> 32);
}
