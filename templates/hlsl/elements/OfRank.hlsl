// The number of a rank; the second argument says of which type
REAL OfRank(WORD rank, REAL type)
{
    const INTEGER order = (INTEGER)(rank - (INFINITY + 1));
    return FromBits((WORD)order ^ ((WORD)(order >> (WORD_BITS - 1)) & MAGNITUDE));
}
int OfRank(uint rank, int type) { return (int)(rank ^ 0x80000000u); }
uint OfRank(uint rank, uint type) { return rank; }
int64_t OfRank(uint64_t rank, int64_t type) { return (int64_t)(rank ^ 0x8000000000000000ull); }
uint64_t OfRank(uint64_t rank, uint64_t type) { return rank; }
