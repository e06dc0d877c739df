"""The numbers that planners choose by: what groups and threads have to do, and when a faster way pays off.

Beside each is where it was measured, and how fast other values were there: 0.9 is nine tenths of the speed.
Where a number decides between two ways, it is how many times as fast the chosen one is. `bench/tune.py`
measures those that it has trials for on the GPU at hand, and writes their lines anew.
"""

from __future__ import annotations

ELEMENTWISE_THREADS = 256  # NVIDIA H200: 64 at 1.00, 128 at 1.00, 512 at 0.99
"threads in a group"
ELEMENTWISE_BITS = 256  # NVIDIA H200: 128 at 0.96, 512 at 0.99
"bits that one thread writes at once"
ELEMENTWISE_UNROLL = 4  # NVIDIA H200: 1 at 0.88, 2 at 0.96, 8 at 1.00
"vectors that one thread writes at once, at most"
ELEMENTWISE_BUSY = 262144  # NVIDIA H200: 1 at 0.89, 16384 at 0.96, 65536 at 0.98
"threads that keep a GPU busy; with fewer, each writes fewer vectors"
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

SCATTER_THREADS = 256  # NVIDIA H200: 64 at 0.50 to 0.81, 128 at 0.91 to 1.01, 512 at 0.97, 1024 at 0.93
"threads in a group"
SCATTER_FEW = 32  # NVIDIA H200: 1.2 to 1.7 times as fast with 64 or more, with 4 at 0.4 to 1.2
"elements for each update, at least, for which those that get none are only copied"

NONZERO_THREADS = 512  # NVIDIA H200, each adding up one block: 256 at 0.82, 1024 at 1.01
"threads in a group"
NONZERO_ITEMS = 2  # NVIDIA H200, threads adding up one block each: 1 at 0.79, 4 at 0.72
"elements of a thread"

PHILOX_THREADS = 256  # not measured
"threads in a group"

DEFINITION_THREADS = 256  # NVIDIA H200: 32 at 0.17 to 1.0, 64 at 0.33 to 1.0, 128 at 0.63 to 1.02
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
SUMS_LARGE_ROWS = 8  # NVIDIA H200: 4 with 256 threads at 0.69, 8 with 256 at 0.86
"the same where there are many groups"
SUMS_LARGE_THREADS = 64  # NVIDIA H200: 256 at 0.86
"threads of such a group"
SUMS_GROUPS = 256  # not measured
"groups that keep a GPU busy; with fewer, each has fewer rows"
SUMS_OWN = 64  # not measured
"sums of a thread, at most"
SUMS_AHEAD = 32  # not measured
"weights that a thread reads ahead, at most"
SUMS_TILE = 5120  # not measured
"words of factors in group memory, at most"

SUMS_RESIDENT = 32768  # NVIDIA H200: 128 of its 132 processors have 256 each
"threads of groups that can wait for one another: all of them run at once, whatever registers they take"
SUMS_ALONE = 16384  # NVIDIA H200: 16 groups that wait at 0.83
"products of a step of a recurrence that a single group is faster with than several that wait, at most"
SUMS_ALONE_THREADS = 256  # NVIDIA H200: 128 at 0.89, 512 at 0.94
"its threads"
SUMS_ALONE_ROWS = 64  # not measured
"rows that it works out at once"
SUMS_ALONE_THREAD_ROWS = 4  # NVIDIA H200: 2 at 1.0
"rows of these that a thread has"
SUMS_NONE_THREADS = 256  # NVIDIA H200: 64 at 0.97, 128 at 0.99
"threads in a group of a pass that only copies what others have added up"
SUMS_STAYING_GROUPS = 128  # NVIDIA H200: its 132 processors have one each
"groups that can wait for one another with all registers of a processor to themselves"
SUMS_STAYING_THREADS = 256  # NVIDIA H200: 128 at 0.7, 512 at 0.9
"threads in a group whose weights stay in registers"
SUMS_STAYING_DEPTH = 1024  # NVIDIA H200: 256 at 0.88, 512 at 0.91
"products that such a group multiplies at once, at most"
SUMS_UNITS_COLUMNS = 5  # not measured
"columns for which matrix units are faster, which have 16 of them"

TILE_PRODUCTS = 4096  # not measured
"products of all sums of a matrix, under a window of all matrices; with fewer, the definition is as good"
TILE_ORDERED = 67108864  # NVIDIA H200: 1.3 times as fast
"products of all sums, at least, for which the left factor of a window is put in order first"
TILE_COPIED = 134217728  # NVIDIA H200: 1.05 times as fast as single elements, 1.2 with halves, with twos 1.3
"products of all sums, at least, for which factors that have no vectors are put in order first"
TILE_COPIED_LINES = 256  # not measured
"rows and columns of these, at least: so often each element is read"
TILE_DEPTH = 16  # NVIDIA H200: 8 at 0.92, 32 at 0.68
"products of a tile"
TILE_GATHERED_DEPTH = 8  # NVIDIA H200: 16 is slower
"the same where each product has another place of the window, which takes registers"
TILE_WALK = 8  # not measured
"rows of tiles that are walked together, so that what they read stays in the cache"
TILE_FEW_ROWS = 32  # NVIDIA H200: 16 at 0.73, 64 at 1.00, 128 at 1.00
"rows, at most, for which there are tiles of their own"
TILE_MANY = 256  # NVIDIA H200: 64 at 0.90, 128 at 1.00, 512 at 0.95, 1024 at 0.95
"tiles of the large kind that keep a GPU busy"
TILE_SMALL = 128  # not measured
"tiles of 32 by 32; with fewer, most of a GPU is idle, and these are faster than larger ones"
TILE_SHALLOW = 256  # NVIDIA H200: 1.2 to 1.35 times as fast with 64 to 256
"products of their sums, at most"
TILE_SHALLOW_DEPTH = 32  # NVIDIA H200: 64 at 0.90
"products of such a tile"
TILE_RESIDENT = 396  # NVIDIA H200: its 132 processors have three each
"tiles of a window that a GPU works on at once"
TILE_FEW = 32  # NVIDIA H200: 16 at 0.88, 64 at 1.01, 128 at 1.01
"tiles of a window, at most, that leave most of a GPU idle even in parts"
TILE_FEW_PHASES = 300  # NVIDIA H200: 32 at 0.66 to 0.85 with 128 and 256 tiles
"the same of phases, whose parts take longer to add up"
TILE_GROUPS = 512  # NVIDIA H200: 128 at 0.52, 256 at 0.90, 1024 at 0.89
"groups that keep a GPU busy; with fewer, sums are worked out in parts"
TILE_ROUNDS = 528  # NVIDIA H200: its 132 processors get four each, and none waits
"the same with a window"
TILE_PART = 256  # NVIDIA H200: 64 at 1.00, 128 at 1.00, 512 at 1.00
"products in a part of a sum, at least"
TILE_GATHERED_PART = 128  # NVIDIA H200: 256 at 0.89
"the same with a window"
TILE_DIRECT_ROWS = 4  # not measured
"rows of a group of channels that make a tile; with fewer, windows slide over the input"
SINGLE_THREADS = 256  # NVIDIA H200: 64 at 0.94, 128 at 1.00, 512 at 1.00
"threads in a group, where each adds up a sum in parts, or puts an element in order"

UNITS_GROUPS = 128  # NVIDIA H200: 32 at 0.64, 64 at 0.73, 256 at 0.99
"groups of matrix units that keep a GPU busy; in attention and sums, too, and half of those of thin matrices"
UNITS_PART = 64  # NVIDIA H200: 32 at 1.00, 128 at 1.00, 256 at 1.00
"products in a part of a sum, at least"
UNITS_WINDOW_PART = 256  # NVIDIA H200: 64 at 0.63 with 256 products of a sum, at 1.0 with 576 to 2304
"the same with a window"
UNITS_MOST_PARTS = 8  # NVIDIA H200: 2 at 0.81, 4 at 1.00, 16 at 1.00
"parts of a sum, at most"
UNITS_TALL = 32  # not measured
"tiles of 128 rows of a convolution, at least; with fewer, there are smaller ones"
UNITS_SHORT = 128  # NVIDIA H200: 32 at 1.00, 64 at 1.00, 256 at 1.00, 512 at 1.00
"products of a sum, at most, that are over before tiles 64 deep pay"
UNITS_SHALLOW = 256  # NVIDIA H200: 1.4 to 1.6 times as fast with 64 to 256
"products of a sum, at most, for which tiles of 32 by 32 are faster where they are few"
UNITS_TAPS = 7  # not measured
"places of a window along its last dimension that tiles have at once, at most"
UNITS_MEMORY = 32 * 1024  # not measured
"bytes of group memory of a tile that has several places at once, at most"
UNITS_REACH = 16  # not measured
"columns of a tile that only the others need, at most"
UNITS_ROWS = 64  # not measured
"tiles of 64 x 128 for which they have several places at once, at least; with fewer, sums come in parts"

BYTES_GROUPS = 128  # NVIDIA H200: tiles half as large at 0.8 to 1.0, twice as large at 0.65 to 0.9
"groups of products of bytes that keep a GPU busy"
BYTES_PART = 256  # not measured
"products in a part of a sum, at least"
BYTES_MOST_PARTS = 8  # not measured
"parts of a sum, at most"
BYTES_DEEP = 24  # not measured
"channels, at most, that are filled up with zeros to vectors of 4 bytes; more to vectors of 16"

ATTENTION_MANY_ROWS = 64  # not measured
"rows of queries of a group, where that leaves enough groups"
ATTENTION_FEW_ROWS = 32  # not measured
"rows of queries of any other group"
ATTENTION_DEPTH = 16  # NVIDIA H200: 8 at 0.95
"entries of a query and a key that are multiplied at once"
ATTENTION_GROUPS = 256  # not measured
"groups that keep a GPU busy"
ATTENTION_WAVES = 4  # NVIDIA H200: 2 at 0.58, 8 at 0.86 with 384 groups
"waves in a group by matrix units"
ATTENTION_MOST_WAVES = 8  # NVIDIA H200: 4 at 0.88 with 1536 groups
"the same of rows wider than 64, where that leaves many groups"
ATTENTION_FEW_WAVES = 2  # NVIDIA H200: 1 at 0.91, 4 at 0.93
"waves, at least, where that leaves few groups"
ATTENTION_MANY_GROUPS = 512  # NVIDIA H200: 32 rows to a wave at 0.81 with 384 groups, 1.07 with 1536
"groups that are many"

PARTS_MOST_QUERIES = 8  # not measured
"queries up to which keys and values are read once for all heads that share them, in parts"
PARTS_THREADS = 128  # not measured
"threads in a group there"
PARTS_GROUPS = 1024  # NVIDIA H200: 512 at 1.01
"groups that keep the memory of a GPU busy"
PARTS_KEYS = 512  # NVIDIA H200: 256 at 0.98, 1024 at 0.99
"keys of a part, at most"

BLOCK_ROWS = 4  # NVIDIA H200: 1 at 0.85, 2 at 0.91, 8 at 1.03
"elements of a block below each other, under whose windows a thread folds; half where windows do not overlap"
BLOCK_COLUMNS = 4  # not measured
"the same beside each other"
BLOCK_MOST = 64  # not measured
"elements of a block, at most: what threads that share its channels have of them fits group memory"
BLOCK_REACH = 40  # not measured
"elements of a row that all windows of a block cover, which a thread holds at once, at most"
BLOCK_PLACES = 81  # not measured
"places of a window whose loops are unrolled, at most"
BLOCK_THREADS = 128  # not measured
"threads in a group"
BLOCK_BUSY = 131072  # not measured
"threads that keep a GPU busy; with fewer, blocks are smaller"
BLOCK_FEW = 32768  # not measured
"threads that keep it busy where each has one row; with fewer, blocks have fewer columns"
BLOCK_LAYERS = 2  # NVIDIA H200: 4 at 0.87
"channels of a block that a thread has to itself, at least"
BLOCK_SHARES = 16  # NVIDIA H200: 8 at 0.6 to 1.0 with 32 channels or more, 32 at 0.5 to 1.5
"threads that share the channels of a block, at most: each of a wave has the same ones"
SLIDING_PRODUCTS = 16777216  # NVIDIA H200: 1.1 to 3 times as fast as tiles, with 29 million 0.8 to 1.1
"products of all sums of a convolution, at most, for which windows slide although there are rows for tiles"
SLIDING_POINTS = 4194304  # NVIDIA H200: 1.0 to 2.4 times as fast, with 13 million 0.8 to 1.1
"the same where windows have one place"
SHARING_THREADS = 256  # not measured
"threads in a group where they share windows"
SHARING_BUSY = 262144  # not measured
"threads that keep a GPU busy where they share windows"
SHARING_LANES = 4  # not measured
"threads that share a window, at least"

SEPARABLE_THREADS = 256  # not measured
"threads in a group, at most"
SEPARABLE_GROUPS = 264  # not measured
"groups that keep a GPU busy; with fewer, threads have fewer planes under way"
SEPARABLE_MANY = 1056  # NVIDIA H200: 4224 at 0.90
"groups that leave none of it idle at the end; with more, each has more planes and rows"
SEPARABLE_TABLE = 7168  # not measured
"words of tables in group memory, at most"
SEPARABLE_FEW = 65536  # not measured
"elements that are few: a thread has one"
SEPARABLE_SMALLER = 3  # not measured
"how many times as wide a tensor is as the output where rows are added up before columns"
SEPARABLE_COLUMNS = 64  # not measured
"columns of the output that a group has then, at most"
SEPARABLE_ROWS = 8  # not measured
"rows of it"
SEPARABLE_SPAN = 512  # not measured
"columns of the tensor that it reads, at most, but for those of one more element"

NEARBY_THREADS = 256  # not measured
"threads in a group, at most, that works out what lies around its elements"
NEARBY_COLUMNS = 32  # not measured
"columns of its tile, at most"
NEARBY_ROWS = 32  # not measured
"rows of its tile, at most"
NEARBY_ROOM = 2048  # not measured
"entries for which it has room"

THIN_LEAST_THREADS = 256  # not measured
"threads in a group that multiplies few rows, at least"
THIN_MOST_THREADS = 512  # not measured
"the same, at most"
THIN_ALL_THREADS = 131072  # not measured
"threads that keep the memory of a GPU busy; with fewer columns, more of them share each"
THIN_LANES = 8  # not measured
"threads that share a sum, at least, where vectors are along the products: a cache line"
THIN_NEIGHBOURS = 4  # not measured
"threads side by side that read neighbouring columns, at least"
THIN_VECTORS = 4  # not measured
"vectors that one thread has under way"

SCAN_THREADS = 128  # NVIDIA H200: 64 at 0.99, 256 at 0.93
"threads in a group"
SCAN_ITEMS = 4  # NVIDIA H200: 2 at 0.81, 8 at 0.58, 16 at 0.37 of single elements, of vectors 8 at 0.81
"elements of a thread, at least"
SCAN_VECTOR_BITS = 128  # NVIDIA H200: of halves 64 at 0.86
"bits of a thread's elements, at least, where they are loaded in vectors"
SCAN_SHORT_LINE = 64  # not measured
"elements of lines that a thread scans alone"
SCAN_MANY_LINES = 131072  # NVIDIA H200: with 4096 lines, groups that share them are 13 times as fast
"lines, at least, that a thread each scans where they lie side by side"
SCAN_SIDE_BYTES = 32  # NVIDIA H200: 64 at 0.94 of float32 and at 0.63 of float16
"of lines side by side on which a group works together, where they are fewer"
SCAN_SIDE_ITEMS = 8  # NVIDIA H200: 4 at 0.71
"elements of a thread in such a group"
SCAN_SIDE_THREADS = 512  # NVIDIA H200: 1024 with 64 bytes at 1.13 of float32 and at 0.90 of float16
"threads in it"
SCAN_FEW_LINES = 256  # not measured
"lines; with fewer, long ones are cut"
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
