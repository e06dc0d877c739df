/* A DirectML of our own for tests: honest COM identities, private data, and a device that is removed by what DirectML's pages
   say removes it. It knows its own objects, and takes no others. */
#pragma once

#include <array>
#include <atomic>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#if defined(_WIN32) && !defined(_MSC_VER)
#define BY_ADDRESS 1 /* as DirectML.dll returns structs */
#else
#define BY_ADDRESS 0
#endif

namespace strict {

inline const HRESULT not_found = static_cast<HRESULT>(0x887A0002);
inline const HRESULT device_removed = static_cast<HRESULT>(0x887A0005);

using Key = std::array<unsigned char, 16>;

inline Key key(REFGUID guid) {
    Key made;
    std::memcpy(made.data(), &guid, 16);
    return made;
}

constexpr GUID parsed(const char* text) { /* "c8263aac-9e0c-4a2d-9b8e-007521a3317c" */
    std::uint64_t halves[2] = {};
    int digits = 0;
    for (; *text != 0; ++text) {
        if (*text != '-') {
            const unsigned digit = *text <= '9' ? static_cast<unsigned>(*text - '0') : static_cast<unsigned>(*text - 'a' + 10);
            halves[digits / 16] = halves[digits / 16] << 4 | digit;
            ++digits;
        }
    }
    GUID guid = {
        static_cast<std::uint32_t>(halves[0] >> 32), static_cast<std::uint16_t>(halves[0] >> 16 & 0xffff),
        static_cast<std::uint16_t>(halves[0] & 0xffff), {}};
    for (int i = 0; i < 8; ++i) {
        guid.Data4[i] = static_cast<unsigned char>(halves[1] >> (56 - 8 * i) & 0xff);
    }
    return guid;
}

/* As the genuine header says; the tests compare. */
inline constexpr GUID unknown = parsed("00000000-0000-0000-c000-000000000046");
inline constexpr GUID object_iid = parsed("c8263aac-9e0c-4a2d-9b8e-007521a3317c");
inline constexpr GUID child_iid = parsed("27e83142-8165-49e3-974e-2fd66e4cb69d");
inline constexpr GUID pageable_iid = parsed("b1ab0825-4542-4a4b-8617-6dde6e8f6201");
inline constexpr GUID dispatchable_iid = parsed("dcb821a8-1039-441e-9f1c-b1759c2f3cec");
inline constexpr GUID operator_iid = parsed("26caae7a-3081-4633-9581-226fbe57695d");
inline constexpr GUID compiled_iid = parsed("6b15e56a-bf5c-4902-92d8-da3a650afea4");
inline constexpr GUID initializer_iid = parsed("427c1113-435c-469c-8676-4d5dd072f813");
inline constexpr GUID table_iid = parsed("29c687dc-de74-4e3b-ab00-1168f2fc3cfc");
inline constexpr GUID recorder_iid = parsed("e6857a76-2e3e-4fdd-bff4-5d2ba10fb453");
inline constexpr GUID device_iid = parsed("6dbd6437-96fd-423f-a98c-ae5e7c2a573f");
inline constexpr GUID device1_iid = parsed("a0884f9a-d2be-4355-aa5d-5901281ad1d2");
inline constexpr GUID debug_iid = parsed("7d6f3ac9-394a-4ac3-92a7-390cc57a8217");
inline constexpr GUID name_key = parsed("4cca5fd8-921f-42c8-8566-70caf2a9b741");

/* The objects that live. */
struct Registry {
    Mutex mutex;
    std::set<const void*> living;
    static Registry& get() {
        static Registry* const one = new Registry; /* outlives every object */
        return *one;
    }
    void add(const void* one) {
        const std::lock_guard<Mutex> lock(mutex);
        living.insert(one);
    }
    void remove(const void* one) {
        const std::lock_guard<Mutex> lock(mutex);
        living.erase(one);
    }
    bool has(const void* one) {
        const std::lock_guard<Mutex> lock(mutex);
        return living.count(one) != 0;
    }
    size_t count() {
        const std::lock_guard<Mutex> lock(mutex);
        return living.size();
    }
};

template <class I>
struct Object : I {
    std::atomic<ULONG> refs{1};
    Mutex mutex;
    std::map<Key, std::vector<unsigned char>> data;
    std::map<Key, IUnknown*> interfaces;

    Object() { Registry::get().add(static_cast<I*>(this)); }
    Object(const Object&) = delete;
    Object& operator=(const Object&) = delete;
    virtual ~Object() {
        for (auto& one : interfaces) {
            one.second->Release();
        }
        Registry::get().remove(static_cast<I*>(this));
    }
    virtual bool is(REFIID iid) = 0;

    HRESULT STDMETHODCALLTYPE QueryInterface(REFIID iid, void** out) override {
        if (is(iid) || key(iid) == key(object_iid) || key(iid) == key(unknown)) {
            AddRef();
            *out = static_cast<I*>(this);
            return S_OK;
        }
        *out = nullptr;
        return E_NOINTERFACE;
    }
    ULONG STDMETHODCALLTYPE AddRef() override { return ++refs; }
    ULONG STDMETHODCALLTYPE Release() override {
        const ULONG left = --refs;
        if (left == 0) {
            delete this;
        }
        return left;
    }
    HRESULT STDMETHODCALLTYPE GetPrivateData(REFGUID guid, UINT* size, void* out) override {
        const std::lock_guard<Mutex> lock(mutex);
        const auto of_interface = interfaces.find(key(guid));
        if (of_interface != interfaces.end()) {
            of_interface->second->AddRef();
            std::memcpy(out, &of_interface->second, sizeof(IUnknown*));
            *size = sizeof(IUnknown*);
            return S_OK;
        }
        const auto found = data.find(key(guid));
        if (found == data.end()) {
            return not_found;
        }
        if (*size < found->second.size()) {
            return E_INVALIDARG;
        }
        *size = static_cast<UINT>(found->second.size());
        std::memcpy(out, found->second.data(), found->second.size());
        return S_OK;
    }
    HRESULT STDMETHODCALLTYPE SetPrivateData(REFGUID guid, UINT size, const void* from) override {
        const std::lock_guard<Mutex> lock(mutex);
        const auto* bytes = static_cast<const unsigned char*>(from);
        data[key(guid)].assign(bytes, bytes + size);
        return S_OK;
    }
    HRESULT STDMETHODCALLTYPE SetPrivateDataInterface(REFGUID guid, IUnknown* given) override {
        const std::lock_guard<Mutex> lock(mutex);
        const auto found = interfaces.find(key(guid));
        if (given != nullptr) {
            given->AddRef();
        }
        if (found != interfaces.end()) {
            found->second->Release();
            interfaces.erase(found);
        }
        if (given != nullptr) {
            interfaces[key(guid)] = given;
        }
        return S_OK;
    }
    HRESULT STDMETHODCALLTYPE SetName(PCWSTR name) override {
        UINT length = 0;
        while (name[length] != 0) {
            ++length;
        }
        return SetPrivateData(name_key, static_cast<UINT>(length * sizeof *name), name);
    }
};

struct Device;

template <class I>
struct Child : Object<I> {
    Device* device;
    explicit Child(Device* of);
    ~Child() override;
    bool is(REFIID iid) override { return key(iid) == key(child_iid); }
    HRESULT STDMETHODCALLTYPE GetDevice(REFIID iid, void** out) override;
};

struct Operator final : Child<IDMLOperator> {
    using Child::Child;
    bool is(REFIID iid) override { return key(iid) == key(operator_iid) || Child::is(iid); }
};

#if BY_ADDRESS
struct Dispatchable : IDMLPageable {
    virtual DML_BINDING_PROPERTIES* STDMETHODCALLTYPE GetBindingProperties(DML_BINDING_PROPERTIES* out) = 0;
};
struct InitializerBase : Dispatchable {
    virtual HRESULT STDMETHODCALLTYPE Reset(UINT count, IDMLCompiledOperator* const* operators) = 0;
};
using CompiledBase = Dispatchable;
#define PROPERTIES(value) \
    DML_BINDING_PROPERTIES* STDMETHODCALLTYPE GetBindingProperties(DML_BINDING_PROPERTIES* out) override { \
        *out = value; \
        return out; \
    }
#else
using CompiledBase = IDMLCompiledOperator;
using InitializerBase = IDMLOperatorInitializer;
#define PROPERTIES(value) \
    DML_BINDING_PROPERTIES STDMETHODCALLTYPE GetBindingProperties() override { return value; }
#endif

struct Compiled final : Child<CompiledBase> {
    DML_BINDING_PROPERTIES properties = {4, 512, 256};
    using Child::Child;
    bool is(REFIID iid) override {
        return key(iid) == key(compiled_iid) || key(iid) == key(dispatchable_iid) || key(iid) == key(pageable_iid) || Child::is(iid);
    }
    PROPERTIES(properties)
};

struct Initializer final : Child<InitializerBase> {
    DML_BINDING_PROPERTIES properties = {2, 0, 0};
    using Child::Child;
    bool is(REFIID iid) override {
        return key(iid) == key(initializer_iid) || key(iid) == key(dispatchable_iid) || key(iid) == key(pageable_iid) || Child::is(iid);
    }
    PROPERTIES(properties)
    HRESULT STDMETHODCALLTYPE Reset(UINT count, IDMLCompiledOperator* const* operators) override;
};

struct Table final : Child<IDMLBindingTable> {
    std::atomic<int> calls{0};
    using Child::Child;
    bool is(REFIID iid) override { return key(iid) == key(table_iid) || Child::is(iid); }
    void STDMETHODCALLTYPE BindInputs(UINT count, const DML_BINDING_DESC*) override;
    void STDMETHODCALLTYPE BindOutputs(UINT, const DML_BINDING_DESC*) override { ++calls; }
    void STDMETHODCALLTYPE BindTemporaryResource(const DML_BINDING_DESC*) override { ++calls; }
    void STDMETHODCALLTYPE BindPersistentResource(const DML_BINDING_DESC*) override { ++calls; }
    HRESULT STDMETHODCALLTYPE Reset(const DML_BINDING_TABLE_DESC* desc) override;
};

struct Recorder final : Child<IDMLCommandRecorder> {
    using Child::Child;
    bool is(REFIID iid) override { return key(iid) == key(recorder_iid) || Child::is(iid); }
    void STDMETHODCALLTYPE RecordDispatch(ID3D12CommandList*, IDMLDispatchable* what, IDMLBindingTable* table) override;
};

enum class Policy { by_rules, accept, refuse };

struct Device final : Object<IDMLDevice1> {
    struct Debug final : IDMLDebugDevice {
        Device* whole = nullptr;
        virtual ~Debug() = default;
        HRESULT STDMETHODCALLTYPE QueryInterface(REFIID iid, void** out) override { return whole->QueryInterface(iid, out); }
        ULONG STDMETHODCALLTYPE AddRef() override { return whole->AddRef(); }
        ULONG STDMETHODCALLTYPE Release() override { return whole->Release(); }
        void STDMETHODCALLTYPE SetMuteDebugOutput(BOOL mute) override { whole->is_muted = mute != 0; }
    } debug;
    bool is_muted = false;
    std::atomic<bool> is_removed{false};
    std::atomic<int> foreign{0}; /* objects that were not ours */
    Policy policy = Policy::by_rules;

    Device() { debug.whole = this; }
    bool is(REFIID iid) override { return key(iid) == key(device_iid) || key(iid) == key(device1_iid); }
    HRESULT STDMETHODCALLTYPE QueryInterface(REFIID iid, void** out) override {
        if (key(iid) == key(debug_iid)) {
            AddRef();
            *out = static_cast<IDMLDebugDevice*>(&debug);
            return S_OK;
        }
        return Object::QueryInterface(iid, out);
    }

    /* Whether an object lives and is ours; the device is removed otherwise. */
    bool owns(const void* one) {
        const bool owned = one != nullptr && Registry::get().has(one);
        foreign += !owned;
        is_removed = is_removed || !owned;
        return owned;
    }
    template <class I>
    HRESULT made(I* object, REFIID iid, void** out) {
        const HRESULT result = object->QueryInterface(iid, out);
        object->Release();
        return result;
    }

    HRESULT STDMETHODCALLTYPE CheckFeatureSupport(DML_FEATURE feature, UINT, const void* query, UINT size, void* out) override {
        if (feature != DML_FEATURE_FEATURE_LEVELS || size != sizeof(DML_FEATURE_DATA_FEATURE_LEVELS)) {
            return E_INVALIDARG;
        }
        const auto* asked = static_cast<const DML_FEATURE_QUERY_FEATURE_LEVELS*>(query);
        DML_FEATURE_LEVEL most = DML_FEATURE_LEVEL_1_0;
        for (UINT i = 0; i < asked->RequestedFeatureLevelCount; ++i) {
            most = asked->RequestedFeatureLevels[i] > most ? asked->RequestedFeatureLevels[i] : most;
        }
        static_cast<DML_FEATURE_DATA_FEATURE_LEVELS*>(out)->MaxSupportedFeatureLevel = most;
        return S_OK;
    }
    HRESULT STDMETHODCALLTYPE CreateOperator(const DML_OPERATOR_DESC* desc, REFIID iid, void** out) override {
        const bool is_valid = dmlops_validate(desc, DML_FEATURE_LEVEL_6_4, nullptr, 0) == 0;
        if (policy == Policy::refuse || (policy == Policy::by_rules && !is_valid)) {
            if (out != nullptr) {
                *out = nullptr;
            }
            return E_INVALIDARG;
        }
        return out == nullptr ? S_FALSE : made(new Operator(this), iid, out);
    }
    HRESULT STDMETHODCALLTYPE CompileOperator(IDMLOperator* op, DML_EXECUTION_FLAGS, REFIID iid, void** out) override {
        return owns(op) ? made(new Compiled(this), iid, out) : E_INVALIDARG;
    }
    HRESULT STDMETHODCALLTYPE CreateOperatorInitializer(UINT count, IDMLCompiledOperator* const* operators, REFIID iid, void** out) override {
        for (UINT i = 0; i < count; ++i) {
            if (!owns(operators[i])) {
                return E_INVALIDARG;
            }
        }
        return made(new Initializer(this), iid, out);
    }
    HRESULT STDMETHODCALLTYPE CreateCommandRecorder(REFIID iid, void** out) override { return made(new Recorder(this), iid, out); }
    HRESULT STDMETHODCALLTYPE CreateBindingTable(const DML_BINDING_TABLE_DESC* desc, REFIID iid, void** out) override {
        return desc != nullptr && owns(desc->Dispatchable) ? made(new Table(this), iid, out) : E_INVALIDARG;
    }
    HRESULT STDMETHODCALLTYPE Evict(UINT count, IDMLPageable* const* objects) override { return MakeResident(count, objects); }
    HRESULT STDMETHODCALLTYPE MakeResident(UINT count, IDMLPageable* const* objects) override {
        for (UINT i = 0; i < count; ++i) {
            if (!owns(objects[i])) {
                return E_INVALIDARG;
            }
        }
        return S_OK;
    }
    HRESULT STDMETHODCALLTYPE GetDeviceRemovedReason() override { return is_removed ? device_removed : S_OK; }
    HRESULT STDMETHODCALLTYPE GetParentDevice(REFIID, void** out) override {
        *out = nullptr;
        return E_NOINTERFACE;
    }
    HRESULT STDMETHODCALLTYPE CompileGraph(const DML_GRAPH_DESC* graph, DML_EXECUTION_FLAGS, REFIID iid, void** out) override {
        for (UINT i = 0; i < graph->NodeCount; ++i) {
            const bool is_operator = graph->Nodes[i].Type == DML_GRAPH_NODE_TYPE_OPERATOR;
            if (is_operator && !owns(static_cast<const DML_OPERATOR_GRAPH_NODE_DESC*>(graph->Nodes[i].Desc)->Operator)) {
                return E_INVALIDARG;
            }
        }
        return made(new Compiled(this), iid, out);
    }
};

template <class I>
Child<I>::Child(Device* of) : device(of) {
    device->AddRef();
}
template <class I>
Child<I>::~Child() {
    device->Release();
}
template <class I>
HRESULT STDMETHODCALLTYPE Child<I>::GetDevice(REFIID iid, void** out) {
    return device->QueryInterface(iid, out);
}
inline HRESULT STDMETHODCALLTYPE Initializer::Reset(UINT count, IDMLCompiledOperator* const* operators) {
    for (UINT i = 0; i < count; ++i) {
        if (!device->owns(operators[i])) {
            return E_INVALIDARG;
        }
    }
    return S_OK;
}
inline void STDMETHODCALLTYPE Table::BindInputs(UINT count, const DML_BINDING_DESC*) {
    ++calls;
    device->is_removed = device->is_removed || count > 8; /* more than any operator of the tests has */
}
inline HRESULT STDMETHODCALLTYPE Table::Reset(const DML_BINDING_TABLE_DESC* desc) {
    return desc == nullptr || device->owns(desc->Dispatchable) ? S_OK : E_INVALIDARG;
}
inline void STDMETHODCALLTYPE Recorder::RecordDispatch(ID3D12CommandList*, IDMLDispatchable* what, IDMLBindingTable* table) {
    device->owns(what);
    device->owns(table);
}

/* A buffer. */
struct Buffer final : ID3D12Resource {
    UINT64 width;
    D3D12_HEAP_TYPE heap;
    explicit Buffer(UINT64 bytes, D3D12_HEAP_TYPE type = D3D12_HEAP_TYPE_DEFAULT) : width(bytes), heap(type) {}
    virtual ~Buffer() = default;
    HRESULT STDMETHODCALLTYPE QueryInterface(REFIID, void** out) override {
        *out = nullptr;
        return E_NOINTERFACE;
    }
    ULONG STDMETHODCALLTYPE AddRef() override { return 1; }
    ULONG STDMETHODCALLTYPE Release() override { return 1; }
    HRESULT STDMETHODCALLTYPE GetPrivateData(REFGUID, UINT*, void*) override { return not_found; }
    HRESULT STDMETHODCALLTYPE SetPrivateData(REFGUID, UINT, const void*) override { return E_NOTIMPL; }
    HRESULT STDMETHODCALLTYPE SetPrivateDataInterface(REFGUID, const IUnknown*) override { return E_NOTIMPL; }
    HRESULT STDMETHODCALLTYPE SetName(LPCWSTR) override { return E_NOTIMPL; }
    HRESULT STDMETHODCALLTYPE GetDevice(REFIID, void**) override { return E_NOTIMPL; }
    HRESULT STDMETHODCALLTYPE Map(UINT, const D3D12_RANGE*, void**) override { return E_NOTIMPL; }
    void STDMETHODCALLTYPE Unmap(UINT, const D3D12_RANGE*) override {}
    D3D12_RESOURCE_DESC described() const {
        D3D12_RESOURCE_DESC desc = {};
        desc.Dimension = D3D12_RESOURCE_DIMENSION_BUFFER;
        desc.Width = width;
        return desc;
    }
#if BY_ADDRESS
    D3D12_RESOURCE_DESC* STDMETHODCALLTYPE GetDesc(D3D12_RESOURCE_DESC* out) override {
        *out = described();
        return out;
    }
#else
    D3D12_RESOURCE_DESC STDMETHODCALLTYPE GetDesc() override { return described(); }
#endif
    D3D12_GPU_VIRTUAL_ADDRESS STDMETHODCALLTYPE GetGPUVirtualAddress() override { return 0; }
    HRESULT STDMETHODCALLTYPE WriteToSubresource(UINT, const D3D12_BOX*, const void*, UINT, UINT) override { return E_NOTIMPL; }
    HRESULT STDMETHODCALLTYPE ReadFromSubresource(void*, UINT, UINT, UINT, const D3D12_BOX*) override { return E_NOTIMPL; }
    HRESULT STDMETHODCALLTYPE GetHeapProperties(D3D12_HEAP_PROPERTIES* properties, D3D12_HEAP_FLAGS*) override {
        properties->Type = heap;
        return S_OK;
    }
};

} /* namespace strict */
