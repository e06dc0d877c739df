// Arithmetic without memory traffic: the peak of a GPU.
//   COOPERATIVE_MATRIX  1: products of 16x16 halves, accumulated in single precision, by waves of 32 threads; 0: float32, each
//                 thread on its own
//   TURNS         iterations of the loop
//   NUM_THREADS   threads in a group
[[vk::binding(0, 0)]] RWStructuredBuffer<float4> results : register(u0);

static const uint chains = 8;  // independent accumulators

#if COOPERATIVE_MATRIX
typedef vk::integral_constant<uint, 16> Sixteen;
typedef vk::integral_constant<uint, 3> OfWave;
typedef vk::SpirvOpaqueType<4456, float16_t, OfWave, Sixteen, Sixteen, vk::integral_constant<uint, 0> > LeftMatrix;
typedef vk::SpirvOpaqueType<4456, float16_t, OfWave, Sixteen, Sixteen, vk::integral_constant<uint, 1> > RightMatrix;
typedef vk::SpirvOpaqueType<4456, float, OfWave, Sixteen, Sixteen, vk::integral_constant<uint, 2> > SumMatrix;
[[vk::ext_instruction(80)]] LeftMatrix FilledLeft(float16_t entry);  // OpCompositeConstruct
[[vk::ext_instruction(80)]] RightMatrix FilledRight(float16_t entry);
[[vk::ext_instruction(80)]] SumMatrix FilledSum(float entry);
[[vk::ext_instruction(4459)]] SumMatrix MultiplyAdd(LeftMatrix left, RightMatrix right, SumMatrix sum);
[[vk::ext_instruction(4458)]] void StoreSums([[vk::ext_reference]] float4 to, SumMatrix sums, uint layout, uint pitch);

[[vk::ext_extension("SPV_KHR_cooperative_matrix")]]
[[vk::ext_capability(6022)]]  // CooperativeMatrixKHR
[[vk::ext_capability(5345)]]  // VulkanMemoryModel
[[vk::ext_capability(9)]]     // Float16
#endif
[numthreads(NUM_THREADS, 1, 1)]
void CSMain(uint3 group : SV_GroupID, uint thread : SV_GroupIndex)
{
    const float start = (group.x & 255) * 0x1p-10f;
#if COOPERATIVE_MATRIX
    const LeftMatrix left = FilledLeft((float16_t)start);
    const RightMatrix right = FilledRight((float16_t)0.5);
    SumMatrix sums[chains];
    [unroll]
    for (uint i = 0; i < chains; i++)
        sums[i] = FilledSum(start + i);
    [loop]
    for (uint turn = 0; turn < TURNS; turn++)
    {
        [unroll]
        for (uint i = 0; i < chains; i++)
            sums[i] = MultiplyAdd(left, right, sums[i]);
    }
    const uint wave = (group.x * NUM_THREADS + thread) / 32;
    [unroll]
    for (uint i = 0; i < chains; i++)
        StoreSums(results[(wave * chains + i) * 64], sums[i], 0, 4);
#else
    float4 sums[chains];
    [unroll]
    for (uint i = 0; i < chains; i++)
        sums[i] = start + i * 4 + float4(0, 1, 2, 3);
    [loop]
    for (uint turn = 0; turn < TURNS; turn++)
    {
        [unroll]
        for (uint i = 0; i < chains; i++)
            sums[i] = mad(sums[i], 0.5f, start);
    }
    float4 sum = 0;
    [unroll]
    for (uint i = 0; i < chains; i++)
        sum += sums[i];
    results[group.x * NUM_THREADS + thread] = sum;
#endif
}
