"""The numbers that planners choose by: what groups and threads have to do, and from where on a way pays.

Beside each is where it was measured, and how fast other values were there: 0.9 is nine tenths of the speed.
`bench/tune.py` measures them on the GPU at hand and writes such lines anew.
"""

from __future__ import annotations

ELEMENTWISE_THREADS = 256  # NVIDIA H200: 64 at 1.00, 128 at 1.00, 512 at 0.99
"threads in a group"
ELEMENTWISE_BITS = 256  # NVIDIA H200: 128 at 0.96, 512 at 0.99
"bits that one thread writes at once"
ELEMENTWISE_UNROLL = 4  # NVIDIA H200: 1 at 0.88, 2 at 0.96, 8 at 1.00
"vectors that one thread writes at once, at most"
PATCH_HEIGHT = 16  # NVIDIA H200: 4 at 0.98, 8 at 1.00, 32 at 1.00
"blocks of neighbouring threads along both dimensions of a patch"
PATCH_WIDTH = 4  # NVIDIA H200: 8 at 0.89, 16 at 0.71, 32 at 0.65
"the same along the inner dimension"

GATHER_THREADS = 512  # NVIDIA H200: 128 at 0.82, 256 at 0.95, 1024 at 0.94
"threads in a group"
GATHER_BITS = 256  # NVIDIA H200: 128 at 0.91, 512 at 0.99
"bits that one thread moves at once"
GATHER_UNROLL = 4  # NVIDIA H200: 1 at 0.86, 2 at 0.98, 8 at 1.00
"vectors that one thread moves at once, at most"
STRIP_BYTES = 128  # NVIDIA H200: 32 at 0.82, 64 at 0.98, 256 at 0.90
"of a row that neighbouring threads walk down together: a cache line"
TUPLE_VECTOR = 2  # NVIDIA H200: 1 at 0.98, 4 at 0.93
"elements that one thread writes where each takes a tuple of indices"

SCATTER_THREADS = 256  # not measured
"threads in a group"

NONZERO_THREADS = 256  # not measured
"threads in a group"
NONZERO_ITEMS = 4  # not measured
"elements of a thread"

PHILOX_THREADS = 256  # not measured
"threads in a group"

DEFINITION_THREADS = 64  # not measured
"threads in a group of a pass that follows a definition"

REDUCTION_LEAST_THREADS = 128  # NVIDIA H200: 32 at 1.01, 64 at 1.00, 256 at 0.96
"threads in a group, at least"
REDUCTION_MOST_THREADS = 512  # NVIDIA H200: 256 at 0.98, 1024 at 0.93
"threads in a group, at most"
REDUCTION_UNROLL = 4  # NVIDIA H200: 2 at 0.96, 8 at 0.97
"vectors that one thread has under way"
REDUCTION_WHOLE_UNROLL = 8  # NVIDIA H200: 4 at 0.90, 16 at 0.98
"the same where that is all it has"
REDUCTION_NEIGHBOURS = 32  # NVIDIA H200: 16 at 0.93, 64 at 0.98
"sets side by side whose elements are loaded together"
REDUCTION_THREADS = 65536  # NVIDIA H200: 1 at 0.74, 4096 at 0.90, 16384 at 0.97, 262144 at 1.00
"threads that keep a GPU busy; with fewer, each has less of a set"
REDUCTION_GROUPS = 512  # NVIDIA H200: 256 at 0.98, 1024 at 0.91
"groups that keep a GPU busy; with fewer, sets are cut into parts"

ROWS_PART = 4  # NVIDIA H200: 2 at 1.00, 8 at 1.00, 16 at 1.00
"blocks of a row that a group works on where rows have no statistics"

SUMS_LEAST_PRODUCTS = 4096  # not measured
"products of what is written at once; with fewer, a thread for each element is as good"
SUMS_FEW_THREADS = 128  # not measured
"threads in a group whose threads have fewer than 8 columns"
SUMS_MANY_THREADS = 256  # not measured
"threads in any other"
SUMS_ROWS = 4  # not measured
"rows of a group, or so many times what a thread has"
SUMS_GROUPS = 256  # not measured
"groups that keep a GPU busy; with fewer, each has fewer rows"
SUMS_OWN = 64  # not measured
"sums of a thread, at most"
SUMS_AHEAD = 32  # not measured
"weights that a thread reads ahead, at most"
SUMS_TILE = 5120  # not measured
"words of factors in group memory, at most"

THIN_LEAST_THREADS = 256  # not measured
"threads in a group that multiplies few rows, at least"
THIN_MOST_THREADS = 512  # not measured
"the same, at most"
THIN_ALL_THREADS = 131072  # not measured
"threads that keep the memory of a GPU busy; with fewer columns, more of them share each"
THIN_NEIGHBOURS = 4  # not measured
"threads side by side that read neighbouring columns, at least"
THIN_VECTORS = 4  # not measured
"vectors that one thread has under way"

SCAN_THREADS = 128  # NVIDIA H200: 64 at 0.99, 256 at 0.97, 512 at 0.52
"threads in a group"
SCAN_ITEMS = 4  # NVIDIA H200: 2 at 0.81, 8 at 0.58, 16 at 0.37
"elements of a thread"
SCAN_SHORT_LINE = 64  # not measured
"elements of lines that a thread scans alone"
SCAN_MANY_LINES = 4096  # not measured
"enough for a thread each, where they lie side by side"
SCAN_FEW_LINES = 256  # not measured
"so few that long ones are cut"
SCAN_BLOCKS = 16  # not measured
"blocks of a group's threads and items that are worth a group of their own where lines are cut"

TOP_K_FEW = 64  # not measured
"elements wanted, for which small tiles are faster, or selecting"
TOP_K_SMALL_TILE = 512  # not measured
"elements of a tile that is sorted where few are wanted"
TOP_K_LARGE_TILE = 1024  # not measured
"the same where many are; takes 12 KiB with keys of 64 bits, and every device has 16"
TOP_K_ITEMS = 32  # NVIDIA H200: 8 at 0.20, 16 at 0.55, 64 at 0.70
"elements that a thread reads where it selects"
TOP_K_LEAST_THREADS = 64  # NVIDIA H200: 32 at 1.02, 128 at 1.00, 256 at 0.51
"threads in a group that selects, at least"
TOP_K_MOST_THREADS = 512  # not measured
"threads in a group that selects, at most"
