"""The numbers that planners choose by: tile and group sizes, and when a faster form pays.

Each has the device it was measured on, and the relative speed of other values there: 0.9 is nine tenths of
the speed. A number that decides between two forms may have the speedup of the one chosen. `bench/tune.py`
measures the numbers on the GPU at hand, and rewrites their lines.
"""

from __future__ import annotations

MULTIPROCESSORS = 132  # NVIDIA H200: has that many
"multiprocessors, each with its own registers and shared memory, that work is shared among"
SATURATING_THREADS = 16384  # NVIDIA H200: for reductions 8192 at 0.83 to 1.12, 65536 at 0.85 to 1.00
"threads that saturate a GPU; with fewer, each reduces or sorts less"

ELEMENTWISE_THREADS = 256  # NVIDIA H200: 64 at 1.00, 128 at 1.00, 512 at 0.99
"threads in a group"
ELEMENTWISE_BUSY = 262144  # NVIDIA H200: 1 at 0.89, 16384 at 0.96, 65536 at 0.98
"threads that saturate a GPU; with fewer, each writes single bytes, not words of them, or a single vector"
ELEMENTWISE_BITS = 256  # NVIDIA H200: 128 at 0.92 to 1.03, and at 1.05 to 1.12 with 2**20 elements
"bits of inputs that a thread loads before it computes, at most, to load two vectors of each"
ELEMENTWISE_FEW = 32768  # NVIDIA H100: 1 at 0.84 to 1.01
"elements of 32 bits or more up to which a thread computes one, not a vector of them"
PATCH_HEIGHT = 16  # NVIDIA H200: 4 at 0.98, 8 at 1.00, 32 at 1.00
"height of a patch, in blocks: neighboring threads walk patches for locality along both dimensions"
PATCH_WIDTH = 4  # NVIDIA H200: 8 at 0.89, 16 at 0.71, 32 at 0.65
"its width, along the innermost dimension"

GATHER_THREADS = 512  # NVIDIA H200: 128 at 0.82, 256 at 0.95, 1024 at 0.94
"threads in a group"
GATHER_BITS = 256  # NVIDIA H200: 128 at 0.91, 512 at 0.99
"bits that a thread moves at once"
GATHER_UNROLL = 4  # NVIDIA H200: 1 at 0.86, 2 at 0.98, 8 at 1.00
"vectors that a thread moves, at most"
STRIP_BYTES = 128  # NVIDIA H200: 32 at 0.82, 64 at 0.98, 256 at 0.90
"bytes of the strips that neighboring threads walk down row by row: a cache line"
TUPLE_VECTOR = 2  # NVIDIA H200: 1 at 0.98, 4 at 0.93
"elements that a thread writes where each takes a tuple of indices"

SCATTER_THREADS = 256  # NVIDIA H200: 64 at 0.50 to 0.81, 128 at 0.91 to 1.01, 512 at 0.97, 1024 at 0.93
"threads in a group"
SCATTER_FEW = 32  # NVIDIA H200: 1.2 to 1.7 times as fast with 64 or more, with 4 at 0.4 to 1.2
"output elements per update from which those without updates are just copied"
SCATTER_ALONE = 4096  # NVIDIA H200: 1.2 to 3.8 times as fast, with 8192 elements 0.74 to 1.3
"elements, or runs of them, up to which one group does everything, with a word of shared memory for each"
SCATTER_ALONE_THREADS = 512  # NVIDIA H200: 256 at 0.65 to 1.00, 1024 (not on all devices) at 0.98 to 1.32
"threads in that group"

NONZERO_THREADS = 256  # NVIDIA H200: 512 at 0.97 to 1.01, and 0.88 where the tensor is small
"threads in a group"
NONZERO_ITEMS = 8  # NVIDIA H200: 4 at 0.74 to 0.92, 16 at 0.87 to 1.16
"elements per thread"

PHILOX_THREADS = 256  # NVIDIA H200: 64 at 0.53, 128 at 0.99, 512 at 0.99
"threads in a group"

DEFINITION_THREADS = 256  # NVIDIA H200: 32 at 0.17 to 1.0, 64 at 0.33 to 1.0, 128 at 0.63 to 1.02
"threads in a group, for passes that follow a definition literally"

REDUCTION_LEAST_THREADS = 128  # NVIDIA H200: 32 at 1.01, 64 at 1.00, 256 at 0.96
"threads in a group, at least"
REDUCTION_MOST_THREADS = 512  # NVIDIA H200: 256 at 0.98, 1024 at 0.93
"threads in a group, at most"
REDUCTION_UNROLL = 4  # NVIDIA H200: 2 at 0.96, 8 at 0.97
"vectors that a thread has in flight"
REDUCTION_WHOLE_UNROLL = 8  # NVIDIA H200: 4 at 0.90, 16 at 0.98
"the same where a set stays in registers, or is long and read again"
REDUCTION_NEIGHBORS = 16  # NVIDIA H200: 8 at 0.97 to 1.01, 32 at 0.90 to 1.02
"adjacent sets, or vectors of sets, whose elements are loaded together"
REDUCTION_BUSY = 262144  # NVIDIA H200: 131072 at 0.75 to 1.07, no limit at 0.46 to 1.00
"threads that keep a GPU busy throughout; with twice as many, fewer share a set"
REDUCTION_LONG = 3  # NVIDIA H200: rows that take 4 are 1.25 to 1.7 times as fast split
"rounds of loads by the largest group that a set takes, at most, if it is not split"
REDUCTION_REREAD_LONG = 5  # NVIDIA H200: split, rows that take 5 are at 0.81 to 0.93, 8 at 0.95 to 1.24
"the same where elements are read again"
REDUCTION_GROUPS = 512  # NVIDIA H200: 256 at 0.98, 1024 at 0.91
"groups that saturate a GPU; with fewer, sets are split into parts"

ROWS_PART = 4  # NVIDIA H200: 2 at 1.00, 8 at 1.00, 16 at 1.00
"blocks of a row per group where rows have no statistics"

SUMS_LEAST_PRODUCTS = 4096  # NVIDIA H200: 512 at 1.00, 32768 at 0.18
"products written at once; below, one thread per element is as good"
SUMS_FEW_THREADS = 128  # NVIDIA H200: 64 at 0.84 to 1.02, 256 at 1.00
"threads in a group whose threads have fewer than 8 columns each"
SUMS_MANY_THREADS = 256  # NVIDIA H200: 64 at 0.77 to 1.00, 128 at 1.00, 512 at 0.16 to 1.00
"threads in any other group"
SUMS_ROWS = 4  # NVIDIA H200: 8 at 0.88 to 1.39
"rows per group, in units of what a thread has"
SUMS_LARGE_ROWS = 8  # NVIDIA H200: 4 with 256 threads at 0.69, 8 with 256 at 0.86
"the same where there are many groups"
SUMS_LARGE_THREADS = 64  # NVIDIA H200: 256 at 0.86
"threads in such a group"
SUMS_GROUPS = 256  # NVIDIA H200: 128 at 0.88 to 1.01, 512 at 0.97
"groups that saturate a GPU; with fewer, each has fewer rows"
SUMS_OWN = 64  # NVIDIA H200: 32 at 0.76 to 0.98, 128 at 0.96
"accumulators of a thread, at most"
SUMS_AHEAD = 32  # NVIDIA H200: 16 at 0.87 to 1.00, 64 at 1.01
"weights that a thread prefetches, at most"
SUMS_TILE = 5120  # NVIDIA H200: 1280 at 1.00, 2560 at 1.00, 10240 at 1.00
"words of factors in shared memory, at most"

SUMS_ALONE = 16384  # NVIDIA H200: 16 groups that wait for each other at 0.83
"products per step of a recurrence up to which one group beats several that synchronize"
SUMS_ALONE_THREADS = 256  # NVIDIA H200: 128 at 0.89, 512 at 0.94
"threads of that group"
SUMS_ALONE_ROWS = 64  # NVIDIA H200: 32 at 0.63, 128 at 1.00
"rows that it computes at once"
SUMS_ALONE_THREAD_ROWS = 4  # NVIDIA H200: 2 at 1.0
"rows of these per thread"
SUMS_NONE_THREADS = 256  # NVIDIA H200: 64 at 0.97, 128 at 0.99
"threads in a group, for passes that only copy what others have summed"
SUMS_COOPERATIVE_COLUMNS = 5  # NVIDIA H200: 2 at 0.97, 10 at 0.99
"columns from which cooperative matrices, which process 16, are faster"

TILE_PRODUCTS = 96  # NVIDIA H200: 512 at 0.31 to 0.86
"products of a matrix, or with a window of all matrices; below, the definition is as good"
TILE_PACKED = 67108864  # NVIDIA H200: 1.3 times as fast
"products in total from which the left factor of a convolution is packed first"
TILE_WALK = 8  # NVIDIA H200: 1, 2, 4, 16 at 0.98 to 1.03 for float16
"rows of tiles that are walked as one band, so that shared factors stay in the cache"
TILE_FEW_ROWS = 32  # NVIDIA H200: 16 at 0.73, 64 at 1.00, 128 at 1.00
"rows up to which tiles are 16 or 32 rows high"
TILE_DIRECT_ROWS = 9  # NVIDIA H200: 4 at 0.4 to 1.2, 13 at 0.6 to 0.85
"rows from which tiles pay with a window of several taps; below, windows slide over the input"
TILE_POINT_ROWS = 4  # NVIDIA H200: 9 at 0.5 to 1.1
"the same with a single tap"
TILE_LEAST_PART = 64
"products in a part of k, at least"
TILE_MOST_PARTS = 128  # NVIDIA H200: 64 at 0.56 for float32, and at 1.16 for float16, with 64x65536x64
"parts of k, at most"
CACHE_RATE = 3563  # NVIDIA H200, fitted
"bytes of factors that all multiprocessors together load from the cache in a nanosecond"
MEMORY_RATE = 2333  # NVIDIA H200, fitted
"bytes of partial sums that are written or read in a nanosecond"
PARTS_START = 1926  # NVIDIA H200, fitted
"nanoseconds that another pass takes, for partial sums"
FLOAT_RATE = 225  # NVIDIA H200: 128 lanes at 1.76 GHz
"multiply-adds of float32 of a multiprocessor in a nanosecond"
FLOAT_LATENCY = 210  # NVIDIA H200, fitted
"nanoseconds of a step in which a group only waits"
FLOAT_ALONE = 47  # NVIDIA H200, fitted
"percentage of the rate that a group reaches alone"
FLOAT_WINDOW_LATENCY = 747  # NVIDIA H200, fitted
"nanoseconds with a window"
FLOAT_WINDOW_ALONE = 58  # NVIDIA H200, fitted
"percentage with a window"
SINGLE_THREADS = 256  # NVIDIA H200: 64 at 0.94, 128 at 1.00, 512 at 1.00
"threads in a group, for passes that add up partial sums or pack factors"

COOPERATIVE_RATE = 3750  # NVIDIA H200: 990 T/s
"multiply-adds of float16 by cooperative matrices of a multiprocessor in a nanosecond"
COOPERATIVE_LATENCY = 229  # NVIDIA H200, fitted
"nanoseconds of a step in which a group only waits"
COOPERATIVE_ALONE = 32  # NVIDIA H200, fitted
"percentage of the rate that a group reaches alone"
COOPERATIVE_WINDOW_LATENCY = 76  # NVIDIA H200, fitted
"nanoseconds with a window"
COOPERATIVE_ROW_LATENCY = 122  # NVIDIA H200, fitted
"nanoseconds where tiles hold several taps"
COOPERATIVE_GATHER_LATENCY = 580  # NVIDIA H200, fitted
"percentage of these two where a window's elements are loaded one by one"
COOPERATIVE_ROW_ALONE = 73  # NVIDIA H200, fitted
"percentage of the rate that a group then reaches alone"
COOPERATIVE_GROUPS = 128  # NVIDIA H200: 32 at 0.64, 64 at 0.73, 256 at 0.99
"groups with cooperative matrices that saturate a GPU in attention and sums; half of that for skinny ones"
COOPERATIVE_PART = 512  # NVIDIA H200: 384 at 1.00, 640 at 0.99
"products in a part of k, at least; k is split from four times as many"
COOPERATIVE_WINDOW_PART = 256  # NVIDIA H200: 64 at 0.63 with 256 products of a sum, at 1.0 with 576 to 2304
"the same with a window"
COOPERATIVE_MOST_PARTS = (
    8  # NVIDIA H200: 2 at 0.81, 4 at 1.00, 16 at 1.00; without a window, 8 at 0.35 to 0.7
)
"parts of k with a window, at most"
COOPERATIVE_TINY = 32  # NVIDIA H200: 1.2 to 3.1 times as fast with 8 to 32, 0.81 with a depth of 64
"rows, columns and depth up to which ordinary arithmetic beats cooperative matrices"
COOPERATIVE_DIRECT_ROWS = 3  # NVIDIA H200: 2 at 0.75 to 1.2 with 2 rows, 4 at 0.7 to 1.2 with 3
"the same as TILE_DIRECT_ROWS with cooperative matrices"
COOPERATIVE_LARGE_ROWS = 6  # NVIDIA H200: 3 at 0.56 to 0.77 with 4 rows, 9 at 0.64 to 1.3 with 8
"the same with windows of more taps than the next number"
COOPERATIVE_LARGE_TAPS = 9  # NVIDIA H200: 25 at 0.69 to 0.77 with 4 rows
"taps of a window up to which tiles pay from COOPERATIVE_DIRECT_ROWS rows"
COOPERATIVE_TAPS = 7  # NVIDIA H200: 1 at 0.60 to 0.93
"taps along a window's last dimension that tiles hold at once, at most"
COOPERATIVE_MEMORY = 32 * 1024  # NVIDIA H200: 16384 at 0.84 to 0.99, 65536 at 1.00
"bytes of shared memory for a tile that holds several taps at once, at most"
COOPERATIVE_REACH = 16  # NVIDIA H200: 2 at 0.92
"extra columns of a tile that only its other taps need, at most"

BYTES_GROUPS = 128  # NVIDIA H200: tiles half as large at 0.8 to 1.0, twice as large at 0.65 to 0.9
"groups that saturate a GPU with products of bytes"
BYTES_PART = 256  # NVIDIA H200: 1024 at 0.81
"products in a part of k, at least"
BYTES_MOST_PARTS = 8  # NVIDIA H200: 4 at 0.81, 16 at 1.00
"parts of k, at most"
BYTES_DIRECT_ROWS = 4  # NVIDIA H200: 3 at 0.87 to 0.94 with 3 rows, 9 at 0.5 to 0.96
"the same as TILE_DIRECT_ROWS with bytes"
BYTES_DEEP = 4  # NVIDIA H200: 2 at 0.7 to 1.0, 12 at 0.88, 24 at 0.72 to 1.0
"channels up to which they are padded to vectors of 4 bytes; more are padded to 16"

ATTENTION_MANY_ROWS = 64  # NVIDIA H200: 32 at 0.82
"queries per group, if that leaves enough groups"
ATTENTION_FEW_ROWS = 32  # NVIDIA H200: 64 at 0.64 to 0.91
"queries per group otherwise"
ATTENTION_DEPTH = 16  # NVIDIA H200: 8 at 0.95
"elements of a query and a key multiplied per iteration"
ATTENTION_GROUPS = 256  # NVIDIA H200: 128 at 0.85 to 1.00, 512 at 0.79 to 1.00
"groups that saturate a GPU"
ATTENTION_WAVES = 4  # NVIDIA H200: 2 at 0.58, 8 at 0.86 with 384 groups
"waves in a group with cooperative matrices"

PARTS_FEW_QUERIES = 4  # NVIDIA H200: 1.03 to 15 times as fast
"queries up to which keys are split into parts, and read once for all queries and heads that share them"
PARTS_MOST_QUERIES = 64  # NVIDIA H200: 1.4 to 2.8 times as fast with 64
"the same if there are few in all heads together, but many keys"
PARTS_QUERIES = 2560  # NVIDIA H200: 1.1 to 12 times as fast with fewer, with 3072 and more 0.6 to 1.2
"queries in all heads together up to which these are few"
PARTS_LEAST_KEYS = 256  # NVIDIA H200: 0.95 to 1.09 times as fast with that many, with 64 and 128 0.63 to 0.78
"keys from which on there are many"
PARTS_COOPERATIVE_SHARED = 2  # NVIDIA H200: 1 at 0.94, 4 at 0.76 to 0.87, 8 at 0.32 to 0.58
"heads that share keys up to which that beats cooperative matrices for single queries"
PARTS_COOPERATIVE_GROUPS = 264  # NVIDIA H200: 132 at 0.80 to 1.10
"groups that occupy a GPU with cooperative matrices, which take parts of the keys only if there are fewer"
PARTS_COOPERATIVE_LEAST = 64  # NVIDIA H200: 128 at 0.91 to 1.00, 256 at 0.77 to 0.97
"keys per part then, at least"
PARTS_COOPERATIVE_WORTH = (
    4096  # NVIDIA H200: 1.1 to 7 times as fast with that many, with 256 to 2048 0.70 to 0.95
)
"parts times keys from which that pays"
PARTS_THREADS = 128  # NVIDIA H200: 64 at 0.87 to 1.00, 256 at 0.99
"threads in a group of that form"
PARTS_GROUPS = 1024  # NVIDIA H200: 512 at 1.01
"groups that saturate a GPU's memory bandwidth"
PARTS_KEYS = 512  # NVIDIA H200: 256 at 0.98, 1024 at 0.99
"keys per part, at most"

BLOCK_ROWS = 4  # NVIDIA H200: 1 at 0.85, 2 at 0.91, 8 at 1.03
"rows of a thread's block of elements; half as many where windows do not overlap"
BLOCK_COLUMNS = 4  # NVIDIA H200: 2 at 0.95 with channels last; with a step of 2 there, 4 at 0.78 to 1.08
"its columns; half as many, with channels last, where windows do not overlap"
BLOCK_FLOAT16 = 2  # NVIDIA H200: 4 at 0.80 with a step of 1
"rows and columns of a block of float16 with channels last, at most: their loads are half as wide"
BLOCK_LONG = 16  # NVIDIA H200: 1.3 times as fast with 31
"taps along a line from which blocks have twice the columns"
BLOCK_MOST = 64  # NVIDIA H200: 16 at 0.76 to 1.08, 32 at 0.94 to 1.13, 128 at 1.00
"elements of a block, at most, so that shared memory has room for those of all threads sharing its channels"
BLOCK_REACH = 40  # NVIDIA H200: 20 at 0.14 to 0.88, 80 at 1.00
"elements of a row that all windows of a block cover, which a thread keeps in registers, at most"
BLOCK_PLACES = 81  # NVIDIA H200: 10 at 0.38 to 0.98
"taps of a window up to which loops over them are unrolled"
BLOCK_THREADS = 128  # NVIDIA H200: 64 at 0.98, 256 at 0.99
"threads in a group"
BLOCK_BUSY = 131072  # NVIDIA H200: 65536 at 0.62 to 1.08, 262144 at 0.77 to 1.13
"threads that saturate a GPU; with fewer, blocks have fewer rows"
BLOCK_FEW = 32768  # NVIDIA H200: 16384 at 0.99, 65536 at 1.01, 131072 at 0.97
"threads with one row each that saturate it; with fewer, blocks have fewer columns"
BLOCK_SPARE = 16  # NVIDIA H200: 1 at 0.73 to 1.1, 8 at 0.79 to 1.0 with 13 rows
"rows of the output per row that blocks have beyond it, at least; with more, blocks have fewer rows"
BLOCK_LAYERS = 2  # NVIDIA H200: 4 at 0.87
"channels of a block per thread, at least"
BLOCK_SHARES = 16  # NVIDIA H200: 8 at 0.6 to 1.0 with 32 channels or more, 32 at 0.5 to 1.5
"threads that share the channels of a block, at most: all threads of a wave have the same channels"
SLIDING_CHANNELS = 8  # NVIDIA H200: 2 to 7 times as fast as tiles with 4 and 8, with 16 at 0.41 to 0.56
"channels and rows per channel group, of several, up to which windows slide over the input"
SLIDING_PRODUCTS = 16777216  # NVIDIA H200: 1.1 to 3 times as fast as tiles, with 29 million 0.8 to 1.1
"products in total up to which a convolution slides windows although it has enough rows for tiles"
SLIDING_POINTS = 4194304  # NVIDIA H200: 1.0 to 2.4 times as fast, with 13 million 0.8 to 1.1
"the same for windows of a single tap"
SHARING_THREADS = 128  # NVIDIA H200: 64 at 0.96 to 1.03, 256 at 0.99
"threads in a group whose threads share windows"
SHARING_BUSY = 262144  # NVIDIA H200: 131072 at 1.01, 524288 at 0.75 to 0.96
"threads that saturate a GPU where they share windows"
SHARING_LANES = 4  # NVIDIA H200: 2 at 1.00, 8 at 0.79
"threads that share a window, at least"

SEPARABLE_THREADS = 256  # NVIDIA H200: 128 at 0.89 to 1.00, 512 at 0.98
"threads in a group, at most"
SEPARABLE_GROUPS = 264  # NVIDIA H200: 33 at 1.00, 528 to 2112 at 1.00, 8448 at 0.72 to 0.99
"groups that saturate a GPU; with fewer, threads compute fewer planes at once"
SEPARABLE_MANY = 1056  # NVIDIA H200: 4224 at 0.90
"groups that leave no idle tail; with more, each takes more planes and rows"
SEPARABLE_TABLE = 7168  # NVIDIA H200: 896 at less than 0.01 to 1.08
"words of tables in shared memory, at most"
SEPARABLE_SMALLER = 3  # NVIDIA H200: 1 at 0.31 to 0.53, 6 at 1.00
"ratio of the tensor's width to the output's from which taps are reduced vertically first"
SEPARABLE_COLUMNS = 64  # NVIDIA H200: 32 at 0.93, 128 at 1.00
"columns of the output that a group then has, at most"
SEPARABLE_ROWS = 8  # NVIDIA H200: 4 at 0.82, 16 at 0.73
"its rows"
SEPARABLE_SPAN = 512  # NVIDIA H200: 256 at 0.87, 1024 at 1.00
"columns of the tensor that a group then reads, at most, apart from the taps of one more element"

SELECTED_LANES = 16  # NVIDIA H200: 4 at 0.84, 8 at 0.83, 32 at 0.81
"elements that share the search for their terms, at most"
SELECTED_ROOM = 33554432  # 128 MiB
"words of tables that mark the terms to add, at most; with more, each element tests all terms"

SKINNY_LEAST_THREADS = 256  # NVIDIA H200: 128 at 1.00, 512 at 0.71 to 0.99
"threads in a group, at least"
SKINNY_MOST_THREADS = 512  # NVIDIA H200: 256 at 0.72 to 0.84, 1024 at 0.34 to 1.00
"the same, at most"
SKINNY_ALL_THREADS = 131072  # NVIDIA H200: 65536 at 0.72 to 0.86, 262144 at 0.94 to 1.09
"threads that saturate a GPU's memory bandwidth; with fewer columns, more lanes share each"
SKINNY_LEAST = 2048  # NVIDIA H200: 512 at 0.73 with 4 rows of 64, at 0.31 for float16; 8192 at 0.85 with one
"products per row from which batches of matrices take this form"
SKINNY_LANES = 8  # NVIDIA H200: 64 at 0.94 to 1.10
"lanes per sum, at least, where vectors run along k: a cache line"
SKINNY_NEIGHBORS = 4  # NVIDIA H200: 2 at 0.72 to 0.91, 8 at 0.73 to 0.84
"threads side by side on adjacent columns, at least"
SKINNY_PART = 128  # NVIDIA H200: 64 at 0.89, 256 at 0.92
"vectors of 16 bytes along k in a part, at least"
SKINNY_VECTORS = 4  # NVIDIA H200: 2 at 0.80 to 1.02, 8 at 0.94 to 1.05
"vectors that a thread has in flight"

SCAN_THREADS = 128  # NVIDIA H200: 64 at 0.79 to 1.02, 256 at 0.75 to 1.10
"threads in a group"
SCAN_FEW_THREADS = 64  # NVIDIA H200: 128 at 0.65 to 0.94
"threads in a group whose lines have SCAN_FEW_BYTES or less"
SCAN_FEW_BYTES = 256  # NVIDIA H200: 512 at 0.92
"bytes of a line up to which groups have fewer threads"
SCAN_ITEMS = 4  # NVIDIA H200: 2 at 0.81, 8 at 0.58, 16 at 0.37 for single elements; 8 at 0.81 for vectors
"elements per thread, at least"
SCAN_VECTOR_BITS = 128  # NVIDIA H200: 64 at 0.86 for float16
"bits per thread, at least, where elements are loaded in vectors"
SCAN_SHORT_BYTES = 64  # NVIDIA H200: 128 at 0.20 with lines of 128, 0 and 32 at 1.00
"bytes of a line up to which a thread scans it alone"
SCAN_MANY_LINES = 131072  # NVIDIA H200: with 4096 lines, sharing them in groups is 13 times as fast
"interleaved lines from which each is scanned by one thread"
SCAN_SIDE_BYTES = 32  # NVIDIA H200: 64 at 0.94 for float32 and at 0.63 for float16
"bytes of interleaved lines that a group scans together, if there are fewer"
SCAN_SIDE_ITEMS = 8  # NVIDIA H200: 4 at 0.71
"elements per thread in such a group"
SCAN_SIDE_THREADS = 512  # NVIDIA H200: 1024 with 64 bytes at 1.13 for float32 and at 0.90 for float16
"threads in such a group"
SCAN_FEW_LINES = 256  # NVIDIA H200: 32 at 0.46 to 0.60, 2048 at 1.00
"lines below which long ones are cut into segments"
SCAN_BLOCKS = 16  # NVIDIA H200: 8 at 1.01, 32 at 0.79
"length of a segment, at least, in blocks of a group's threads times items"

TOP_K_SHORTEST = 128  # NVIDIA H200: selecting from lines of 128 has 0.5 to 1.8, of 256 and 512 1.5 to 3.1
"elements of a line up to which it is sorted even if few are wanted"
TOP_K_SELECTED = 16  # NVIDIA H200: sorting is at 0.3 to 0.7 with 32 and 64, at 1.38 with 10 of float16
"elements of a line per element wanted from which selecting beats sorting the line at once"
TOP_K_REDUCED = 4  # NVIDIA H200: 1 at 1.00, 32 at 0.53 to 1.00
"the same where a line is too long for that"
TOP_K_ITEMS = 32  # NVIDIA H200: 8 at 0.20, 16 at 0.55, 64 at 0.70
"elements that a thread reads when selecting, at most"
TOP_K_LEAST_ITEMS = 8  # NVIDIA H200: 4 at 1.04, 16 at 0.90 to 1.06
"the same, at least, where a line is cut into parts"
TOP_K_LEAST_THREADS = 64  # NVIDIA H200: 32 at 1.02, 128 at 1.00, 256 at 0.51
"threads in a group, at least"
TOP_K_PART_THREADS = 256  # NVIDIA H200: 128 at 0.91 to 1.02, 512 at 0.95 to 1.02
"threads in a group that selects from a part of a line"
TOP_K_GROUPS = 1024  # NVIDIA H200: 512 at 0.89, 2048 at 0.80
"groups that saturate a GPU; with fewer, lines are cut into shorter parts"
TOP_K_ABREAST = 32  # NVIDIA H200: 4 lines of float32, where there is room, are as fast as 2
"bytes of adjacent lines that a group selects from, at most"
TOP_K_MOST_THREADS = 512  # NVIDIA H200: 256 at 0.19 to 1.00, 1024 at 1.00
"threads in a selecting group, at most"
TOP_K_SORTED_ITEMS = 16  # NVIDIA H200: 8 at 0.95 for float32 and at 0.79 for float16, 4 at 0.72 and 0.56
"elements of a line per thread, where a group sorts it"
TOP_K_MERGED_ITEMS = 8  # NVIDIA H200: 16 at 0.92
"the same where tiles of it are sorted and merged"
