// Marks results that depend on the order of operations, which DXIL lets compilers change unless they are `precise`. SPIR-V
// does not need it: bits hide what must stay apart (KeptApart, LessExact), and products may still be fused with sums.
#ifdef __spirv__
#define DXIL_PRECISE
#else
#define DXIL_PRECISE precise
#endif
