// A chain of element-wise operators. Each thread writes vectors of elements, or single ones, a group's width apart.

struct Dimension
{
    uint4 quarters[$quarters];  // size in vectors or elements, its reciprocal, the strides of the inputs and of the output
};

$resources
[[vk::binding($constants, 0)]] cbuffer Params : register(b0)
{
    uint4 head[$head];  // the number of vectors, thread groups along x, and the strides of inputs within a vector
    Dimension dimensions[$rank];  // outermost first
};

// n / size, by way of (2^32 - 1) / size rounded down, which makes the estimate fall short by at most 1
uint DivideBySize(uint n, uint size, uint reciprocal)
{
    const uint below = (uint)(((uint64_t)n * reciprocal) >> 32);
    return below + (uint)(n - below * size >= size);
}

$functions

[numthreads(NUM_THREADS, 1, 1)]
void CSMain(uint3 group : SV_GroupID, uint thread : SV_GroupIndex)
{
    const uint item = (group.y * head[0].y + group.x) * NUM_THREADS * $vectors + thread;
    if (item >= head[0].x)
        return;

    uint4 places[$vectors][$quarters];
$loaded
    [unroll]
    for (uint u = 0; u < $vectors; u++)
    {
        uint rest = item + u * NUM_THREADS;
        [unroll]
        for (int d = $rank - 1; d >= 0; d--)
        {
            const uint size = dimensions[d].quarters[0].x;
            const uint outer = d > 0 ? DivideBySize(rest, size, dimensions[d].quarters[0].y) : 0;
            [unroll]
            for (uint quarter = 0; quarter < $quarters; quarter++)
            {
                const uint4 step = (rest - outer * size) * dimensions[d].quarters[quarter];
                places[u][quarter] = d == $rank - 1 ? step : places[u][quarter] + step;
            }
            rest = outer;
        }
$loads
    }

    [unroll]
    for (uint u = 0; u < $vectors; u++)
    {
        $stored results[$vector];
        [$loop]
        for (uint k = 0; k < $vector; k++)
        {
$values
        }
        outputTensor[$output / $vector] = $result;
    }
}
