// Another entry point around a shader, which sets a flag if loops no longer run.

#define CSMain CSTested
$source
#undef CSMain
[[vk::binding($binding, 0)]] RWByteAddressBuffer loopsEnded : register(u63);

$threads
void CSMain(uint3 group : SV_GroupID, uint thread : SV_GroupIndex)
{
    CSTested(group, thread);
    uint turns = 0;
    [loop]
    for (uint i = thread; i < thread + 2; ++i)
        turns += 1 + group.z;
    if (turns < 2)
        loopsEnded.Store(0, 1);
}
