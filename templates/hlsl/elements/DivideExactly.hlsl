// x / y, correctly rounded; for integers truncated, and 0 if y is 0
REAL DivideExactly(REAL x, REAL y) { return Divide(x, y); }
int DivideExactly(int x, int y) { return Quotient(x, y); }
int64_t DivideExactly(int64_t x, int64_t y) { return Quotient(x, y); }
uint DivideExactly(uint x, uint y) { return Quotient(x, y); }
uint64_t DivideExactly(uint64_t x, uint64_t y) { return Quotient(x, y); }
