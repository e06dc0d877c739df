"""DXIL compute shaders on the CPU: what DXC emits for Direct3D 12, executed without Direct3D.

No package brings a Direct3D 12 for Linux, and software Vulkan only sees SPIR-V, which DXC makes of the same
HLSL in another way. So the disassembly of DXIL is translated to C, statement by statement (`translate`),
compiled by the machine's C compiler with `runtime.h`, and called with a plan's buffers (`execute`,
`operators`). Threads are fibers that stop at barriers and wave operations.
"""
