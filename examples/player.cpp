// Runs a folder that `dmlops plan MODEL --out FOLDER --target dxil` wrote, through Direct3D 12: reads plan.json, creates a
// pipeline state for each shader, records all steps into one command list, and executes it. Nothing here plans anything or
// knows an operator.
//
//     cl /std:c++17 /EHsc examples\player.cpp d3d12.lib
//     player FOLDER INPUT... OUTPUT...
//
// The inputs and outputs are files of raw elements, in the plan's order. docs/PLANS.md describes the folder.
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include <d3d12.h>

#include "plan.h"

namespace {

// A COM object. All of them live as long as the process, which avoids reference counting here; use your own ComPtr.
template <typename T, typename Make>
T* made(Make make) {
    void* object = nullptr;
    CHECK(SUCCEEDED(make(__uuidof(T), &object)));
    return static_cast<T*>(object);
}

// The device, and commands that are executed once they are complete.
struct Gpu {
    ID3D12Device* device = made<ID3D12Device>(
        [](REFIID id, void** out) { return D3D12CreateDevice(nullptr, D3D_FEATURE_LEVEL_11_0, id, out); });
    ID3D12CommandQueue* queue = made<ID3D12CommandQueue>([this](REFIID id, void** out) {
        const D3D12_COMMAND_QUEUE_DESC desc{D3D12_COMMAND_LIST_TYPE_COMPUTE, 0, D3D12_COMMAND_QUEUE_FLAG_NONE, 0};
        return device->CreateCommandQueue(&desc, id, out);
    });
    ID3D12GraphicsCommandList* commands = nullptr;
    std::map<ID3D12Resource*, D3D12_RESOURCE_STATES> states; // within these commands

    void begin() {
        ID3D12CommandAllocator* allocator = made<ID3D12CommandAllocator>([this](REFIID id, void** out) {
            return device->CreateCommandAllocator(D3D12_COMMAND_LIST_TYPE_COMPUTE, id, out);
        });
        commands = made<ID3D12GraphicsCommandList>([&](REFIID id, void** out) {
            return device->CreateCommandList(0, D3D12_COMMAND_LIST_TYPE_COMPUTE, allocator, nullptr, id, out);
        });
        states.clear();
    }

    // Executes the commands, and waits for their end; they could be executed again.
    void execute() {
        CHECK(SUCCEEDED(commands->Close()));
        ID3D12CommandList* lists[] = {commands};
        queue->ExecuteCommandLists(1, lists);
        ID3D12Fence* fence = made<ID3D12Fence>(
            [this](REFIID id, void** out) { return device->CreateFence(0, D3D12_FENCE_FLAG_NONE, id, out); });
        CHECK(SUCCEEDED(queue->Signal(fence, 1)));
        CHECK(SUCCEEDED(fence->SetEventOnCompletion(1, nullptr))); // without an event it blocks
        CHECK(SUCCEEDED(device->GetDeviceRemovedReason()));
    }

    // A buffer in the heap for shaders, for uploads or for readback.
    ID3D12Resource* buffer(D3D12_HEAP_TYPE type, std::uint64_t size) {
        D3D12_HEAP_PROPERTIES heap{};
        heap.Type = type;
        D3D12_RESOURCE_DESC desc{};
        desc.Dimension = D3D12_RESOURCE_DIMENSION_BUFFER;
        desc.Width = size ? size : 16;
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

    // A buffer with the contents of a file, which must have `size` bytes.
    ID3D12Resource* loaded(const char* folder, const char* name, std::uint64_t size) {
        std::size_t length;
        char* data = read_file(folder, name, &length);
        ID3D12Resource* upload = buffer(D3D12_HEAP_TYPE_UPLOAD, size);
        void* mapped = nullptr;
        CHECK(length == size && SUCCEEDED(upload->Map(0, nullptr, &mapped)));
        std::memcpy(mapped, data, length);
        upload->Unmap(0, nullptr);
        std::free(data);
        return upload;
    }

    // Transitions a buffer of the default heap. Its first use in a command list does so implicitly.
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

    void copy(ID3D12Resource* target, std::uint64_t at, ID3D12Resource* source, std::uint64_t from, std::uint64_t size) {
        commands->CopyBufferRegion(target, at, source, from, size);
    }
};

struct Player {
    Gpu gpu;
    ID3D12Resource* memories[MEMORIES];
    ID3D12Resource* zeros = nullptr;
    std::vector<region> regions;
    std::vector<ID3D12PipelineState*> pipelines;
    std::vector<ID3D12RootSignature*> signatures; // of the pipelines
    std::map<UINT, ID3D12RootSignature*> known; // by the number of buffers

    Player(const char* folder, const char* plan) {
        std::uint64_t cleared = 0;
        for (const char* one = first_entry(member(plan, "regions")); one; one = next_entry(one)) {
            regions.push_back(read_region(one));
        }
        for (const char* name : {"once", "steps"}) {
            for (const char* step = first_entry(member(plan, name)); step; step = next_entry(step)) {
                const char* clear = member(step, "clear");
                const std::uint64_t size = clear ? regions[number(clear)].size : 0;
                cleared = size > cleared ? size : cleared;
            }
        }
        for (const char* one = first_entry(member(plan, "shaders")); one; one = next_entry(one)) {
            signatures.push_back(signature(static_cast<UINT>(number(member(one, "buffers")))));
            D3D12_COMPUTE_PIPELINE_STATE_DESC desc{};
            desc.pRootSignature = signatures.back();
            desc.CS.pShaderBytecode = read_shader(folder, one, &desc.CS.BytecodeLength);
            pipelines.push_back(made<ID3D12PipelineState>([&](REFIID id, void** out) {
                return gpu.device->CreateComputePipelineState(&desc, id, out);
            }));
        }
        const std::uint64_t weights = number(member(plan, "weights"));
        memories[ARENA] = gpu.buffer(D3D12_HEAP_TYPE_DEFAULT, number(member(plan, "arena")));
        memories[WEIGHTS] = gpu.buffer(D3D12_HEAP_TYPE_DEFAULT, weights);
        memories[CONSTANTS] = gpu.loaded(folder, "constants.bin", number(member(plan, "constants")));
        zeros = gpu.buffer(D3D12_HEAP_TYPE_DEFAULT, cleared); // committed resources are zeroed
        gpu.begin();
        if (weights) {
            gpu.use(memories[WEIGHTS], D3D12_RESOURCE_STATE_COPY_DEST);
            gpu.copy(memories[WEIGHTS], 0, gpu.loaded(folder, "weights.bin", weights), 0, weights);
        }
        record(member(plan, "once"));
        gpu.execute();
    }

    // Buffers at u0, u1 and so on, and constants at b0. Root descriptors take any structured buffer.
    ID3D12RootSignature* signature(UINT buffers) {
        if (!known.count(buffers)) {
            std::vector<D3D12_ROOT_PARAMETER> parameters(buffers + 1);
            for (UINT i = 0; i <= buffers; ++i) {
                parameters[i].ParameterType = i < buffers ? D3D12_ROOT_PARAMETER_TYPE_UAV : D3D12_ROOT_PARAMETER_TYPE_CBV;
                parameters[i].Descriptor = {i < buffers ? i : 0, 0};
            }
            const D3D12_ROOT_SIGNATURE_DESC desc{buffers + 1, parameters.data(), 0, nullptr, D3D12_ROOT_SIGNATURE_FLAG_NONE};
            ID3DBlob* blob = nullptr;
            CHECK(SUCCEEDED(D3D12SerializeRootSignature(&desc, D3D_ROOT_SIGNATURE_VERSION_1, &blob, nullptr)));
            known[buffers] = made<ID3D12RootSignature>([&](REFIID id, void** out) {
                return gpu.device->CreateRootSignature(0, blob->GetBufferPointer(), blob->GetBufferSize(), id, out);
            });
        }
        return known[buffers];
    }

    std::uint64_t address(const char* place) const {
        const region& one = regions[number(place)];
        return memories[one.memory]->GetGPUVirtualAddress() + one.offset;
    }

    // Records steps. Shaders see the arena and the weights as unordered access views alone, so that they stay in one state,
    // and barriers between steps are those of the plan.
    void record(const char* steps) {
        for (const char* step = first_entry(steps); step; step = next_entry(step)) {
            if (*member(step, "barrier") == 't') {
                D3D12_RESOURCE_BARRIER barrier{};
                barrier.Type = D3D12_RESOURCE_BARRIER_TYPE_UAV; // of all resources
                gpu.commands->ResourceBarrier(1, &barrier);
            }
            if (const char* clear = member(step, "clear")) {
                const region& one = regions[number(clear)];
                gpu.use(memories[one.memory], D3D12_RESOURCE_STATE_COPY_DEST); // this waits, too
                gpu.use(zeros, D3D12_RESOURCE_STATE_COPY_SOURCE);
                gpu.copy(memories[one.memory], one.offset, zeros, 0, one.size);
                continue;
            }
            const char* shader = member(step, "shader");
            gpu.use(memories[ARENA], D3D12_RESOURCE_STATE_UNORDERED_ACCESS);
            gpu.use(memories[WEIGHTS], D3D12_RESOURCE_STATE_UNORDERED_ACCESS);
            gpu.commands->SetComputeRootSignature(signatures[number(shader)]);
            gpu.commands->SetPipelineState(pipelines[number(shader)]);
            UINT place = 0;
            for (const char* list : {member(step, "reads"), member(step, "writes")}) {
                for (const char* one = first_entry(list); one; one = next_entry(one)) {
                    gpu.commands->SetComputeRootUnorderedAccessView(place++, address(one));
                }
            }
            gpu.commands->SetComputeRootConstantBufferView(place, address(member(step, "constants")));
            const char* x = first_entry(member(step, "groups"));
            const char* y = next_entry(x);
            const char* z = next_entry(y);
            gpu.commands->Dispatch(
                static_cast<UINT>(number(x)), static_cast<UINT>(number(y)), static_cast<UINT>(number(z)));
        }
    }
};

} // namespace

int main(int argc, char** argv) {
    if (argc < 2) {
        std::fprintf(stderr, "usage: %s FOLDER INPUT... OUTPUT...\n", argv[0]);
        return 2;
    }
    const char* plan = read_plan(argv[1], "dxil", argc - 2);
    if (!plan) {
        return 2;
    }
    Player player(argv[1], plan);
    Gpu& gpu = player.gpu;
    ID3D12Resource* arena = player.memories[ARENA];
    int file = 2;

    gpu.begin();
    for (const char* one = first_entry(member(plan, "inputs")); one; one = next_entry(one), ++file) {
        const region& target = player.regions[number(member(one, "region"))];
        const std::uint64_t size = number(member(one, "bytes"));
        CHECK(target.memory == ARENA && size <= target.size);
        gpu.use(arena, D3D12_RESOURCE_STATE_COPY_DEST);
        gpu.copy(arena, target.offset, gpu.loaded(nullptr, argv[file], size), 0, size);
    }
    player.record(member(plan, "steps"));
    std::vector<ID3D12Resource*> results;
    for (const char* one = first_entry(member(plan, "outputs")); one; one = next_entry(one)) {
        const region& source = player.regions[number(member(one, "region"))];
        const std::uint64_t size = number(member(one, "bytes"));
        results.push_back(gpu.buffer(D3D12_HEAP_TYPE_READBACK, size));
        gpu.use(player.memories[source.memory], D3D12_RESOURCE_STATE_COPY_SOURCE);
        gpu.copy(results.back(), 0, player.memories[source.memory], source.offset, size);
    }
    gpu.execute();

    const char* one = first_entry(member(plan, "outputs"));
    for (ID3D12Resource* result : results) {
        const std::size_t size = static_cast<std::size_t>(number(member(one, "bytes")));
        std::FILE* target = std::fopen(argv[file++], "wb");
        void* mapped = nullptr;
        CHECK(SUCCEEDED(result->Map(0, nullptr, &mapped)));
        CHECK(target && std::fwrite(mapped, 1, size, target) == size && std::fclose(target) == 0);
        one = next_entry(one);
    }
    return 0;
}
