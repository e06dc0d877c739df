// The sum of a million numbers on a GPU, through Direct3D 12: validates a description, plans it, compiles the shader
// variants that the plan needs, records its dispatches, and reads the result. Only main() is about sums: any other
// description runs the same way, with its tensors in `buffers`.
//
//     cl /std:c++17 /EHsc /I generated\include examples\d3d12.cpp d3d12.lib
//     d3d12 generated\hlsl
//
// The environment variable DXC names the DirectX Shader Compiler if it is not on PATH. Windows refuses what is not
// signed: before 1.8.2502, the compiler only signs if dxil.dll lies beside it. A real program would ship the byte code;
// dispatches with equal shader and macros can share a pipeline.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include <d3d12.h>

#include "dmlops_plan.h"

namespace {

#define CHECK(condition) check((condition), #condition, __LINE__)

void check(bool holds, const char* what, int line) {
    if (!holds) {
        std::fprintf(stderr, "d3d12.cpp:%d: this does not hold: %s\n", line, what);
        std::exit(1);
    }
}

// A COM object. All of them live as long as the process, which avoids reference counting here; use your own ComPtr.
template <typename T, typename Make>
T* made(Make make) {
    void* object = nullptr;
    CHECK(SUCCEEDED(make(__uuidof(T), &object)));
    return static_cast<T*>(object);
}

struct Gpu {
    ID3D12Device* device = made<ID3D12Device>(
        [](REFIID id, void** out) { return D3D12CreateDevice(nullptr, D3D_FEATURE_LEVEL_11_0, id, out); });
    ID3D12CommandQueue* queue = made<ID3D12CommandQueue>([this](REFIID id, void** out) {
        const D3D12_COMMAND_QUEUE_DESC desc{D3D12_COMMAND_LIST_TYPE_COMPUTE, 0, D3D12_COMMAND_QUEUE_FLAG_NONE, 0};
        return device->CreateCommandQueue(&desc, id, out);
    });
    ID3D12CommandAllocator* allocator = made<ID3D12CommandAllocator>([this](REFIID id, void** out) {
        return device->CreateCommandAllocator(D3D12_COMMAND_LIST_TYPE_COMPUTE, id, out);
    });
    ID3D12GraphicsCommandList* commands = made<ID3D12GraphicsCommandList>([this](REFIID id, void** out) {
        return device->CreateCommandList(0, D3D12_COMMAND_LIST_TYPE_COMPUTE, allocator, nullptr, id, out);
    });

    // A buffer in the heap for shaders, for uploads or for readback.
    ID3D12Resource* buffer(D3D12_HEAP_TYPE type, std::uint64_t size) {
        D3D12_HEAP_PROPERTIES heap{};
        heap.Type = type;
        D3D12_RESOURCE_DESC desc{};
        desc.Dimension = D3D12_RESOURCE_DIMENSION_BUFFER;
        desc.Width = size;
        desc.Height = desc.DepthOrArraySize = desc.MipLevels = 1;
        desc.SampleDesc.Count = 1;
        desc.Layout = D3D12_TEXTURE_LAYOUT_ROW_MAJOR;
        const bool local = type == D3D12_HEAP_TYPE_DEFAULT;
        desc.Flags = local ? D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS : D3D12_RESOURCE_FLAG_NONE;
        const D3D12_RESOURCE_STATES state = local                          ? D3D12_RESOURCE_STATE_COMMON
                                            : type == D3D12_HEAP_TYPE_UPLOAD ? D3D12_RESOURCE_STATE_GENERIC_READ
                                                                             : D3D12_RESOURCE_STATE_COPY_DEST;
        return made<ID3D12Resource>([&](REFIID id, void** out) {
            return device->CreateCommittedResource(&heap, D3D12_HEAP_FLAG_NONE, &desc, state, nullptr, id, out);
        });
    }

    // A buffer filled by the host, of `size` bytes; those of constant buffers are multiples of 256.
    ID3D12Resource* filled(const void* data, std::uint64_t size) {
        ID3D12Resource* upload = buffer(D3D12_HEAP_TYPE_UPLOAD, (size + 255) / 256 * 256);
        void* mapped = nullptr;
        CHECK(SUCCEEDED(upload->Map(0, nullptr, &mapped)));
        std::memcpy(mapped, data, static_cast<std::size_t>(size));
        upload->Unmap(0, nullptr);
        return upload;
    }

    // Transitions a buffer of the default heap. Its first use in a new command list does so implicitly.
    void use(ID3D12Resource* resource, D3D12_RESOURCE_STATES state) {
        const auto [known, first] = states.try_emplace(resource, state);
        if (!first && known->second != state) {
            D3D12_RESOURCE_BARRIER barrier{};
            barrier.Type = D3D12_RESOURCE_BARRIER_TYPE_TRANSITION;
            barrier.Transition = {resource, D3D12_RESOURCE_BARRIER_ALL_SUBRESOURCES, known->second, state};
            commands->ResourceBarrier(1, &barrier);
            known->second = state;
        }
    }

    std::map<ID3D12Resource*, D3D12_RESOURCE_STATES> states;

    void submit() {
        CHECK(SUCCEEDED(commands->Close()));
        ID3D12CommandList* lists[] = {commands};
        queue->ExecuteCommandLists(1, lists);
        ID3D12Fence* fence = made<ID3D12Fence>(
            [this](REFIID id, void** out) { return device->CreateFence(0, D3D12_FENCE_FLAG_NONE, id, out); });
        CHECK(SUCCEEDED(queue->Signal(fence, 1)));
        CHECK(SUCCEEDED(fence->SetEventOnCompletion(1, nullptr))); // without an event it blocks
    }
};

// The byte code of a dispatch's variant.
std::vector<char> compile(const dmlops_dispatch& dispatch, const std::string& shaders) {
    const char* dxc = std::getenv("DXC");
    std::string command = dxc ? dxc : "dxc";
    command += " -T cs_6_2 -E CSMain -enable-16bit-types -O3 -Wno-ignored-attributes -Fo variant.cso";
    for (std::uint32_t i = 0; i < dispatch.define_count; ++i) {
        command += std::string(" -D") + dispatch.defines[i].name + "=" + dispatch.defines[i].value;
    }
    command += " \"" + shaders + "/" + dispatch.shader + "\"";
    CHECK(std::system(command.c_str()) == 0);
    std::ifstream file("variant.cso", std::ios::binary);
    std::vector<char> code{std::istreambuf_iterator<char>(file), {}};
    file.close();
    std::remove("variant.cso");
    CHECK(!code.empty());
    return code;
}

// Constants at b0, then what the shader reads, from t0 on, then what it writes, from u0 on. Root descriptors take any
// structured buffer; views in a descriptor table would need the stride of its elements.
ID3D12RootSignature* root_signature(Gpu& gpu, const dmlops_dispatch& dispatch) {
    std::vector<D3D12_ROOT_PARAMETER> parameters(dispatch.binding_count + 1);
    parameters[0].ParameterType = D3D12_ROOT_PARAMETER_TYPE_CBV;
    parameters[0].Descriptor = {0, 0};
    for (UINT i = 0; i < dispatch.binding_count; ++i) {
        const bool reads = i < dispatch.read_count;
        parameters[i + 1].ParameterType = reads ? D3D12_ROOT_PARAMETER_TYPE_SRV : D3D12_ROOT_PARAMETER_TYPE_UAV;
        // Both members of the union's struct: initializing the vector leaves RegisterSpace indeterminate.
        parameters[i + 1].Descriptor = {reads ? i : i - dispatch.read_count, 0};
    }
    const D3D12_ROOT_SIGNATURE_DESC desc{
        static_cast<UINT>(parameters.size()), parameters.data(), 0, nullptr, D3D12_ROOT_SIGNATURE_FLAG_NONE};
    ID3DBlob* blob = nullptr;
    CHECK(SUCCEEDED(D3D12SerializeRootSignature(&desc, D3D_ROOT_SIGNATURE_VERSION_1, &blob, nullptr)));
    return made<ID3D12RootSignature>([&](REFIID id, void** out) {
        return gpu.device->CreateRootSignature(0, blob->GetBufferPointer(), blob->GetBufferSize(), id, out);
    });
}

// Records a description. `buffers` are those of its tensors in the default heap, by the position of the member in the
// struct.
void record(Gpu& gpu, const DML_OPERATOR_DESC& desc, ID3D12Resource* const* buffers, const std::string& shaders) {
    std::vector<dmlops_dispatch> dispatches(dmlops_plan(&desc, nullptr, 0));
    dmlops_work work;
    dmlops_plan_work(&desc, &work, dispatches.data(), dispatches.size());
    if (dispatches.empty()) {
        std::fprintf(stderr, "no plan: %s\n", work.message);
        std::exit(1);
    }
    std::vector<ID3D12Resource*> scratch; // committed resources are zeroed, in case of `zero_initialize`
    for (std::uint32_t i = 0; i < work.scratch_count; ++i) {
        scratch.push_back(gpu.buffer(D3D12_HEAP_TYPE_DEFAULT, work.scratch[i].size));
    }
    for (const dmlops_dispatch& dispatch : dispatches) {
        if (dispatch.needs_barrier) { // for everything that earlier dispatches wrote
            D3D12_RESOURCE_BARRIER barrier{};
            barrier.Type = D3D12_RESOURCE_BARRIER_TYPE_UAV;
            gpu.commands->ResourceBarrier(1, &barrier);
        }
        const std::vector<char> code = compile(dispatch, shaders);
        D3D12_COMPUTE_PIPELINE_STATE_DESC pipeline{};
        pipeline.pRootSignature = root_signature(gpu, dispatch);
        pipeline.CS = {code.data(), code.size()};
        gpu.commands->SetPipelineState(made<ID3D12PipelineState>([&](REFIID id, void** out) {
            return gpu.device->CreateComputePipelineState(&pipeline, id, out);
        }));
        gpu.commands->SetComputeRootSignature(pipeline.pRootSignature);
        gpu.commands->SetComputeRootConstantBufferView(
            0, gpu.filled(dispatch.constants, dispatch.constant_count * sizeof(std::uint32_t))->GetGPUVirtualAddress());
        for (UINT i = 0; i < dispatch.binding_count; ++i) {
            const dmlops_binding one = dispatch.bindings[i]; // in an array of tensors, `entry` matters, too
            ID3D12Resource* buffer = one.member == DMLOPS_SCRATCH ? scratch[one.entry] : buffers[one.member];
            if (i < dispatch.read_count) {
                gpu.use(buffer, D3D12_RESOURCE_STATE_NON_PIXEL_SHADER_RESOURCE);
                gpu.commands->SetComputeRootShaderResourceView(i + 1, buffer->GetGPUVirtualAddress());
            } else {
                gpu.use(buffer, D3D12_RESOURCE_STATE_UNORDERED_ACCESS);
                gpu.commands->SetComputeRootUnorderedAccessView(i + 1, buffer->GetGPUVirtualAddress());
            }
        }
        gpu.commands->Dispatch(dispatch.groups[0], dispatch.groups[1], dispatch.groups[2]);
        std::printf("%s: %u macros%s\n", dispatch.shader, dispatch.define_count, dispatch.needs_barrier ? ", after a barrier" : "");
    }
}

} // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        std::fprintf(stderr, "usage: %s FOLDER_OF_SHADERS\n", argv[0]);
        return 2;
    }
    constexpr UINT rows = 1000, columns = 1000;
    const dmlops::tensor input(DML_TENSOR_DATA_TYPE_FLOAT32, {rows, columns});
    const dmlops::tensor output(DML_TENSOR_DATA_TYPE_FLOAT32, {1, 1});
    const UINT axes[] = {0, 1};
    const DML_REDUCE_OPERATOR_DESC reduce = {DML_REDUCE_FUNCTION_SUM, input, output, 2, axes};
    for (const dmlops::violation& violation : dmlops::validate(reduce)) {
        std::fprintf(stderr, "%s: %s\n", violation.rule.c_str(), violation.message.c_str());
        return 1;
    }
    std::vector<float> numbers(std::size_t{rows} * columns);
    double expected = 0;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        numbers[i] = static_cast<float>(i % 7);
        expected += numbers[i];
    }

    Gpu gpu;
    const std::uint64_t size = numbers.size() * sizeof(float);
    ID3D12Resource* upload = gpu.filled(numbers.data(), size);
    ID3D12Resource* readback = gpu.buffer(D3D12_HEAP_TYPE_READBACK, sizeof(float));
    ID3D12Resource* buffers[] = {
        nullptr, // Function
        gpu.buffer(D3D12_HEAP_TYPE_DEFAULT, size), // InputTensor
        gpu.buffer(D3D12_HEAP_TYPE_DEFAULT, sizeof(float)), // OutputTensor
    };
    gpu.use(buffers[1], D3D12_RESOURCE_STATE_COPY_DEST);
    gpu.commands->CopyBufferRegion(buffers[1], 0, upload, 0, size);
    record(gpu, {DML_OPERATOR_REDUCE, &reduce}, buffers, argv[1]);
    gpu.use(buffers[2], D3D12_RESOURCE_STATE_COPY_SOURCE);
    gpu.commands->CopyBufferRegion(readback, 0, buffers[2], 0, sizeof(float));
    gpu.submit();

    void* mapped = nullptr;
    CHECK(SUCCEEDED(readback->Map(0, nullptr, &mapped)));
    const float sum = *static_cast<const float*>(mapped);
    std::printf("sum %.0f, expected %.0f\n", static_cast<double>(sum), expected);
    return static_cast<double>(sum) == expected ? 0 : 1; // sums of integers stay below 2^24, so none is rounded
}
