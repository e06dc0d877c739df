// The coordinate that an index selects: a negative one counts from the end, and what is still out of range is clamped
int NormalizeIndex(int index, int size) { return clamp(index < 0 ? index + size : index, 0, size - 1); }
int NormalizeIndex(uint index, int size) { return (int)min(index, (uint)size - 1); }
int NormalizeIndex(int64_t index, int size) { return (int)clamp(index < 0 ? index + size : index, (int64_t)0, (int64_t)size - 1); }
int NormalizeIndex(uint64_t index, int size) { return (int)min(index, (uint64_t)size - 1); }
