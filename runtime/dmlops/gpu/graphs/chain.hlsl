// A chain of element-wise operators. Each thread writes vectors of elements, or single ones, a group's width apart.

struct Dimension
{
    uint size;  // vectors or elements
    uint multiplier;  // these three divide by size
    uint halving;
    uint shift;
    uint4 strides[$quarters];  // of the inputs and of the output
};

$resources
[[vk::binding($constants, 0)]] cbuffer Params : register(b0)
{
    uint4 head[$head];  // the number of vectors, thread groups along x, and the strides of inputs within a vector
    Dimension dimensions[$rank];  // outermost first
};

// n / size for every n below 2^32
uint DivideBySize(uint n, Dimension dimension)
{
    const uint high = (uint)(((uint64_t)n * dimension.multiplier) >> 32);
    return (high + ((n - high) >> dimension.halving)) >> dimension.shift;
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
            const uint outer = d > 0 ? DivideBySize(rest, dimensions[d]) : 0;
            [unroll]
            for (uint quarter = 0; quarter < $quarters; quarter++)
            {
                const uint4 step = (rest - outer * dimensions[d].size) * dimensions[d].strides[quarter];
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
