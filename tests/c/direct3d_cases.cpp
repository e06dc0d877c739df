// Runs cases that `tests/direct3d_cases.py pack` has written on a Direct3D 12 device: each case twice, every buffer
// between guard zones.
//
//     direct3d_cases PACK RESULTS [warp]
//
// RESULTS gets a record per case: a message, which is empty if all went well, and the bytes of the outputs. If a case
// ends the process, or takes its device away, run the same command again: it notes that and goes on with the next
// case. The exit status is 0 when every case has its record.
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#ifdef _WIN32
#include <d3d12.h>
#include <dxgi1_4.h>
#else // DirectX-Headers, with include/, include/wsl/stubs and include/directx among the folders of headers
#include <wsl/winadapter.h>
#include <directx/d3d12.h>
#include <dxguids/dxguids.h>
#endif

namespace {

using Bytes = std::vector<char>;

constexpr std::uint64_t GUARD = 4096; // bytes on either side of a buffer
constexpr char UNTOUCHED = '\xC3';

struct Failure : std::runtime_error {
    using std::runtime_error::runtime_error;
};

void check(HRESULT result, const char* call) {
    if (FAILED(result)) {
        char code[16];
        std::snprintf(code, sizeof code, " %08x", static_cast<unsigned>(result));
        throw Failure(std::string(call) + code);
    }
}

// Owns a COM object.
template <typename T>
class Com {
  public:
    explicit Com(T* object) : object_(object) {}
    template <typename Make>
    Com(const char* call, Make make) {
        void* object = nullptr;
        check(make(__uuidof(T), &object), call);
        object_ = static_cast<T*>(object);
    }
    Com(Com&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
    ~Com() {
        if (object_ != nullptr) {
            object_->Release();
        }
    }
    T* get() const { return object_; }
    T* operator->() const { return object_; }

  private:
    T* object_ = nullptr;
};

// What `pack` writes: 32-bit words, little-endian, and bytes padded to whole words.

struct Buffer {
    bool is_output;
    std::uint32_t size;
    const char* content; // or, if it is null, each byte is `fill`
    char fill;
};

struct Dispatch {
    std::uint32_t code, reads, waits;
    std::array<std::uint32_t, 2> groups;
    std::vector<std::uint32_t> buffers, constants;
};

struct Case {
    std::vector<Buffer> buffers;
    std::vector<Dispatch> dispatches;
};

class Reader {
  public:
    explicit Reader(const Bytes& bytes) : at_(bytes.data()), end_(at_ + bytes.size()) {}
    std::size_t left() const { return static_cast<std::size_t>(end_ - at_); }
    const char* bytes(std::uint64_t size) {
        const std::uint64_t padded = (size + 3) / 4 * 4;
        if (padded > left()) {
            throw Failure("the file ends too early");
        }
        return std::exchange(at_, at_ + padded);
    }
    std::uint32_t word() {
        std::uint32_t value;
        std::memcpy(&value, bytes(sizeof value), sizeof value);
        return value;
    }
    std::vector<std::uint32_t> words() {
        std::vector<std::uint32_t> values(word());
        const char* from = bytes(4 * std::uint64_t{values.size()});
        if (!values.empty()) {
            std::memcpy(values.data(), from, 4 * values.size());
        }
        return values;
    }

  private:
    const char* at_;
    const char* end_;
};

Case read_case(Reader& reader) {
    Case one;
    for (std::uint32_t count = reader.word(); count > 0; --count) {
        const bool is_output = reader.word() != 0, is_filled = reader.word() != 0;
        const std::uint32_t size = reader.word(), fill = is_filled ? reader.word() : 0;
        one.buffers.push_back({is_output, size, is_filled ? nullptr : reader.bytes(size), static_cast<char>(fill)});
    }
    for (std::uint32_t count = reader.word(); count > 0; --count) {
        const std::uint32_t code = reader.word(), reads = reader.word(), waits = reader.word();
        const std::uint32_t columns = reader.word(), rows = reader.word();
        std::vector<std::uint32_t> buffers = reader.words(), constants = reader.words();
        one.dispatches.push_back({code, reads, waits, {columns, rows}, std::move(buffers), std::move(constants)});
    }
    return one;
}

Bytes contents(const char* path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

// Direct3D 12.

Com<ID3D12Device> device_of([[maybe_unused]] bool is_warp) {
    IUnknown* adapter = nullptr; // the default one
#ifdef _WIN32
    if (is_warp) {
        Com<IDXGIFactory4> factory("CreateDXGIFactory1", CreateDXGIFactory1);
        check(factory->EnumWarpAdapter(IID_PPV_ARGS(&adapter)), "EnumWarpAdapter");
    }
#endif
    return {"D3D12CreateDevice", [adapter](REFIID id, void** out) {
                return D3D12CreateDevice(adapter, D3D_FEATURE_LEVEL_11_0, id, out);
            }};
}

class Gpu {
  public:
    Gpu(bool is_warp, const std::vector<std::pair<const char*, std::uint32_t>>& codes)
        : codes_(codes), device_(device_of(is_warp)) {}

    // Runs a case; returns the bytes of all buffers, in order, with the guard zones around them.
    Bytes run(const Case& one) {
        std::uint64_t size = 0;
        for (const Buffer& buffer : one.buffers) {
            size += buffer.size + 2 * GUARD;
        }
        Com<ID3D12Resource> upload = resource(D3D12_HEAP_TYPE_UPLOAD, size), back = resource(D3D12_HEAP_TYPE_READBACK, size);
        char* mapped = nullptr;
        check(upload->Map(0, nullptr, reinterpret_cast<void**>(&mapped)), "Map");
        for (const Buffer& buffer : one.buffers) {
            std::memset(mapped, UNTOUCHED, static_cast<std::size_t>(buffer.size + 2 * GUARD));
            if (buffer.content != nullptr) {
                std::memcpy(mapped + GUARD, buffer.content, buffer.size);
            } else {
                std::memset(mapped + GUARD, buffer.fill, buffer.size);
            }
            mapped += buffer.size + 2 * GUARD;
        }
        upload->Unmap(0, nullptr);

        std::vector<Com<ID3D12Resource>> buffers, constants;
        states_.clear();
        std::uint64_t at = 0;
        for (const Buffer& buffer : one.buffers) {
            buffers.push_back(resource(D3D12_HEAP_TYPE_DEFAULT, buffer.size + 2 * GUARD));
            use(buffers.back().get(), D3D12_RESOURCE_STATE_COPY_DEST);
            list_->CopyBufferRegion(buffers.back().get(), 0, upload.get(), at, buffer.size + 2 * GUARD);
            at += buffer.size + 2 * GUARD;
        }
        for (const Dispatch& dispatch : one.dispatches) {
            constants.push_back(filled(dispatch.constants));
            record(dispatch, buffers, constants.back().get());
        }
        at = 0;
        for (std::size_t i = 0; i < buffers.size(); ++i) {
            use(buffers[i].get(), D3D12_RESOURCE_STATE_COPY_SOURCE);
            list_->CopyBufferRegion(back.get(), at, buffers[i].get(), 0, one.buffers[i].size + 2 * GUARD);
            at += one.buffers[i].size + 2 * GUARD;
        }
        submit();
        check(back->Map(0, nullptr, reinterpret_cast<void**>(&mapped)), "Map");
        Bytes found(mapped, mapped + size);
        back->Unmap(0, nullptr);
        return found;
    }

    // Drops what a failed case has recorded. Fails if the device is lost.
    void reset() {
        check(device_->GetDeviceRemovedReason(), "GetDeviceRemovedReason");
        list_->Close();
        check(allocator_->Reset(), "ID3D12CommandAllocator::Reset");
        check(list_->Reset(allocator_.get(), nullptr), "ID3D12GraphicsCommandList::Reset");
    }

    void print_features() {
        D3D12_FEATURE_DATA_SHADER_MODEL model{static_cast<D3D_SHADER_MODEL>(0x64)};
        D3D12_FEATURE_DATA_D3D12_OPTIONS doubles{};
        D3D12_FEATURE_DATA_D3D12_OPTIONS1 integers{};
        D3D12_FEATURE_DATA_D3D12_OPTIONS4 halves{};
        device_->CheckFeatureSupport(D3D12_FEATURE_SHADER_MODEL, &model, sizeof model);
        device_->CheckFeatureSupport(D3D12_FEATURE_D3D12_OPTIONS, &doubles, sizeof doubles);
        device_->CheckFeatureSupport(D3D12_FEATURE_D3D12_OPTIONS1, &integers, sizeof integers);
        device_->CheckFeatureSupport(D3D12_FEATURE_D3D12_OPTIONS4, &halves, sizeof halves);
        std::printf("shader model %x, Int64ShaderOps %d, Native16BitShaderOpsSupported %d, DoublePrecisionFloatShaderOps %d\n",
            static_cast<unsigned>(model.HighestShaderModel), integers.Int64ShaderOps, halves.Native16BitShaderOpsSupported,
            doubles.DoublePrecisionFloatShaderOps);
    }

  private:
    Com<ID3D12Resource> resource(D3D12_HEAP_TYPE type, std::uint64_t size) {
        D3D12_HEAP_PROPERTIES heap{};
        heap.Type = type;
        D3D12_RESOURCE_DESC desc{};
        desc.Dimension = D3D12_RESOURCE_DIMENSION_BUFFER;
        desc.Width = size;
        desc.Height = desc.DepthOrArraySize = desc.MipLevels = 1;
        desc.SampleDesc.Count = 1;
        desc.Layout = D3D12_TEXTURE_LAYOUT_ROW_MAJOR;
        const bool is_local = type == D3D12_HEAP_TYPE_DEFAULT;
        desc.Flags = is_local ? D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS : D3D12_RESOURCE_FLAG_NONE;
        const D3D12_RESOURCE_STATES state = is_local                         ? D3D12_RESOURCE_STATE_COMMON
                                            : type == D3D12_HEAP_TYPE_UPLOAD ? D3D12_RESOURCE_STATE_GENERIC_READ
                                                                             : D3D12_RESOURCE_STATE_COPY_DEST;
        return {"CreateCommittedResource", [&](REFIID id, void** out) {
                    return device_->CreateCommittedResource(&heap, D3D12_HEAP_FLAG_NONE, &desc, state, nullptr, id, out);
                }};
    }

    Com<ID3D12Resource> filled(const std::vector<std::uint32_t>& words) {
        Com<ID3D12Resource> constants = resource(D3D12_HEAP_TYPE_UPLOAD, (4 * words.size() + 255) / 256 * 256);
        void* mapped = nullptr;
        check(constants->Map(0, nullptr, &mapped), "Map");
        std::memcpy(mapped, words.data(), 4 * words.size());
        constants->Unmap(0, nullptr);
        return constants;
    }

    // Transitions a buffer; its first use in a command list does so implicitly.
    void use(ID3D12Resource* buffer, D3D12_RESOURCE_STATES state) {
        const auto [known, is_first] = states_.try_emplace(buffer, state);
        if (!is_first && known->second != state) {
            D3D12_RESOURCE_BARRIER barrier{};
            barrier.Type = D3D12_RESOURCE_BARRIER_TYPE_TRANSITION;
            barrier.Transition = {buffer, D3D12_RESOURCE_BARRIER_ALL_SUBRESOURCES, known->second, state};
            list_->ResourceBarrier(1, &barrier);
            known->second = state;
        }
    }

    void record(const Dispatch& dispatch, const std::vector<Com<ID3D12Resource>>& buffers, ID3D12Resource* constants) {
        if (dispatch.waits != 0) {
            D3D12_RESOURCE_BARRIER barrier{};
            barrier.Type = D3D12_RESOURCE_BARRIER_TYPE_UAV;
            list_->ResourceBarrier(1, &barrier);
        }
        const auto count = static_cast<UINT>(dispatch.buffers.size());
        ID3D12RootSignature* root = root_signature(dispatch.reads, count - dispatch.reads);
        list_->SetPipelineState(pipeline(dispatch.code, root));
        list_->SetComputeRootSignature(root);
        list_->SetComputeRootConstantBufferView(0, constants->GetGPUVirtualAddress());
        for (UINT i = 0; i < count; ++i) {
            ID3D12Resource* buffer = buffers.at(dispatch.buffers[i]).get();
            const D3D12_GPU_VIRTUAL_ADDRESS address = buffer->GetGPUVirtualAddress() + GUARD;
            if (i < dispatch.reads) {
                use(buffer, D3D12_RESOURCE_STATE_NON_PIXEL_SHADER_RESOURCE);
                list_->SetComputeRootShaderResourceView(i + 1, address);
            } else {
                use(buffer, D3D12_RESOURCE_STATE_UNORDERED_ACCESS);
                list_->SetComputeRootUnorderedAccessView(i + 1, address);
            }
        }
        list_->Dispatch(dispatch.groups[0], dispatch.groups[1], 1);
    }

    // Constants at b0, then what the shader reads, from t0 on, then what it writes, from u0 on.
    ID3D12RootSignature* root_signature(UINT reads, UINT writes) {
        const auto known = roots_.find({reads, writes});
        if (known != roots_.end()) {
            return known->second.get();
        }
        std::vector<D3D12_ROOT_PARAMETER> parameters(1 + reads + writes);
        parameters[0].ParameterType = D3D12_ROOT_PARAMETER_TYPE_CBV;
        parameters[0].Descriptor = {0, 0};
        for (UINT i = 0; i < reads + writes; ++i) {
            parameters[i + 1].ParameterType = i < reads ? D3D12_ROOT_PARAMETER_TYPE_SRV : D3D12_ROOT_PARAMETER_TYPE_UAV;
            parameters[i + 1].Descriptor = {i < reads ? i : i - reads, 0};
        }
        const D3D12_ROOT_SIGNATURE_DESC desc{
            static_cast<UINT>(parameters.size()), parameters.data(), 0, nullptr, D3D12_ROOT_SIGNATURE_FLAG_NONE};
        ID3DBlob* serialized = nullptr;
        check(
            D3D12SerializeRootSignature(&desc, D3D_ROOT_SIGNATURE_VERSION_1, &serialized, nullptr),
            "D3D12SerializeRootSignature");
        const Com<ID3DBlob> blob(serialized);
        Com<ID3D12RootSignature> root("CreateRootSignature", [&](REFIID id, void** out) {
            return device_->CreateRootSignature(0, blob->GetBufferPointer(), blob->GetBufferSize(), id, out);
        });
        return roots_.emplace(std::pair{reads, writes}, std::move(root)).first->second.get();
    }

    ID3D12PipelineState* pipeline(std::uint32_t code, ID3D12RootSignature* root) {
        const auto known = pipelines_.find({code, root});
        if (known != pipelines_.end()) {
            return known->second.get();
        }
        D3D12_COMPUTE_PIPELINE_STATE_DESC desc{};
        desc.pRootSignature = root;
        desc.CS = {codes_.at(code).first, codes_.at(code).second};
        Com<ID3D12PipelineState> state("CreateComputePipelineState", [&](REFIID id, void** out) {
            return device_->CreateComputePipelineState(&desc, id, out);
        });
        return pipelines_.emplace(std::pair{code, root}, std::move(state)).first->second.get();
    }

    void submit() {
        check(list_->Close(), "ID3D12GraphicsCommandList::Close");
        ID3D12CommandList* lists[] = {list_.get()};
        queue_->ExecuteCommandLists(1, lists);
        check(queue_->Signal(fence_.get(), ++signaled_), "Signal");
        check(fence_->SetEventOnCompletion(signaled_, nullptr), "SetEventOnCompletion"); // without an event it blocks
        check(device_->GetDeviceRemovedReason(), "GetDeviceRemovedReason");
        check(allocator_->Reset(), "ID3D12CommandAllocator::Reset");
        check(list_->Reset(allocator_.get(), nullptr), "ID3D12GraphicsCommandList::Reset");
    }

    const std::vector<std::pair<const char*, std::uint32_t>>& codes_;
    Com<ID3D12Device> device_;
    Com<ID3D12CommandQueue> queue_{"CreateCommandQueue", [this](REFIID id, void** out) {
        const D3D12_COMMAND_QUEUE_DESC desc{D3D12_COMMAND_LIST_TYPE_COMPUTE, 0, D3D12_COMMAND_QUEUE_FLAG_NONE, 0};
        return device_->CreateCommandQueue(&desc, id, out);
    }};
    Com<ID3D12CommandAllocator> allocator_{"CreateCommandAllocator", [this](REFIID id, void** out) {
        return device_->CreateCommandAllocator(D3D12_COMMAND_LIST_TYPE_COMPUTE, id, out);
    }};
    Com<ID3D12GraphicsCommandList> list_{"CreateCommandList", [this](REFIID id, void** out) {
        return device_->CreateCommandList(0, D3D12_COMMAND_LIST_TYPE_COMPUTE, allocator_.get(), nullptr, id, out);
    }};
    Com<ID3D12Fence> fence_{"CreateFence", [this](REFIID id, void** out) {
        return device_->CreateFence(0, D3D12_FENCE_FLAG_NONE, id, out);
    }};
    std::uint64_t signaled_ = 0;
    std::map<ID3D12Resource*, D3D12_RESOURCE_STATES> states_; // of the current case
    std::map<std::pair<UINT, UINT>, Com<ID3D12RootSignature>> roots_;
    std::map<std::pair<std::uint32_t, ID3D12RootSignature*>, Com<ID3D12PipelineState>> pipelines_;
};

// Cases.

// What a case must leave as it was: the guard zones, and its inputs.
std::string damage(const Case& one, const Bytes& found) {
    const Bytes untouched(GUARD, UNTOUCHED);
    std::string message;
    const char* at = found.data();
    for (std::size_t i = 0; i < one.buffers.size(); ++i) {
        const Buffer& buffer = one.buffers[i];
        const char* after = at + GUARD + buffer.size;
        if (std::memcmp(at, untouched.data(), GUARD) != 0 || std::memcmp(after, untouched.data(), GUARD) != 0) {
            message += "bytes around buffer " + std::to_string(i) + " are written; ";
        }
        if (buffer.content != nullptr && std::memcmp(at + GUARD, buffer.content, buffer.size) != 0) {
            message += "buffer " + std::to_string(i) + ", an input, is written; ";
        }
        at = after + GUARD;
    }
    return message;
}

std::vector<Bytes> outputs(const Case& one, const Bytes& found) {
    std::vector<Bytes> written;
    const char* at = found.data();
    for (const Buffer& buffer : one.buffers) {
        if (buffer.is_output) {
            written.emplace_back(at + GUARD, at + GUARD + buffer.size);
        }
        at += buffer.size + 2 * GUARD;
    }
    return written;
}

class Results {
  public:
    // Continues a file: a record that is not complete belongs to a case that ended the process.
    explicit Results(const char* path) {
        const Bytes before = contents(path);
        Reader reader(before);
        std::size_t complete = 0;
        try {
            while (reader.left() > 0) {
                reader.bytes(reader.word());
                for (std::uint32_t count = reader.word(); count > 0; --count) {
                    reader.bytes(reader.word());
                }
                ++count_;
                complete = before.size() - reader.left();
            }
        } catch (const Failure&) { // it ends in a record
        }
        file_.open(path, std::ios::binary | std::ios::trunc);
        file_.write(before.data(), static_cast<std::streamsize>(complete));
        if (complete < before.size()) {
            add("the case ended the process", {});
        }
    }

    std::uint32_t count() const { return count_; }

    // Notes that a case begins, as the first byte of its record.
    void begin() {
        file_.write("?", 1);
        file_.flush();
        file_.seekp(-1, std::ios::cur);
    }

    void add(const std::string& message, const std::vector<Bytes>& written) {
        bytes(message.data(), message.size());
        word(static_cast<std::uint32_t>(written.size()));
        for (const Bytes& one : written) {
            bytes(one.data(), one.size());
        }
        file_.flush();
        ++count_;
    }

  private:
    void word(std::uint32_t value) { file_.write(reinterpret_cast<const char*>(&value), sizeof value); }

    void bytes(const char* data, std::size_t size) {
        word(static_cast<std::uint32_t>(size));
        file_.write(data, static_cast<std::streamsize>(size));
        file_.write("\0\0\0", static_cast<std::streamsize>((4 - size % 4) % 4));
    }

    std::ofstream file_;
    std::uint32_t count_ = 0;
};

// The message and the outputs of a case that runs twice.
void run(Gpu& gpu, const Case& one, Results& results) {
    std::string message;
    std::vector<Bytes> written;
    results.begin();
    try {
        const Bytes found = gpu.run(one);
        written = outputs(one, found);
        message = damage(one, found);
        if (outputs(one, gpu.run(one)) != written) {
            message += "the second run gives other bytes; ";
        }
    } catch (const Failure& failure) {
        results.add(failure.what(), {});
        gpu.reset();
        return;
    }
    results.add(message, written);
}

} // namespace

int main(int argc, char** argv) {
    if (argc < 3) {
        std::fprintf(stderr, "usage: %s PACK RESULTS [warp]\n", argv[0]);
        return 2;
    }
    try {
        const Bytes pack = contents(argv[1]);
        Reader reader(pack);
        std::vector<std::pair<const char*, std::uint32_t>> codes(reader.word());
        for (auto& [code, size] : codes) {
            size = reader.word();
            code = reader.bytes(size);
        }
        Gpu gpu(argc > 3 && std::string(argv[3]) == "warp", codes);
        gpu.print_features();
        Results results(argv[2]);
        const std::uint32_t count = reader.word();
        for (std::uint32_t number = 0; number < count; ++number) {
            const Case one = read_case(reader);
            if (number >= results.count()) {
                run(gpu, one, results);
            }
        }
        std::printf("%u cases\n", count);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
    return 0;
}
