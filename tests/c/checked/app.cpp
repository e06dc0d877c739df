/* What a checking device says of calls, and what it does not change. Prints a line for each report and for each fact:
 * tests/test_c_checked.py knows them. An argument chooses what is done. */
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "headers.h"

#include "dmlops.h"
#include "dmlops_checked.h"
#include "strict.h"

namespace {

Mutex printing;

void print(const dmlops::report& one) {
    const std::lock_guard<Mutex> lock(printing);
    std::printf(
        "%s\t%s\t%s\t%s\t%s\t%s\n", one.call.c_str(), one.rule.c_str(), one.member.c_str(), one.message.c_str(),
        one.object.c_str(), one.advice ? "advice" : one.json.empty() ? "" : "json");
}

void fact(const char* what, bool holds) {
    std::printf("%s: %s\n", what, holds ? "yes" : "no");
}

template <class T>
T* as(IUnknown* object, const GUID& iid) {
    void* found = nullptr;
    return object->QueryInterface(iid, &found) == S_OK ? static_cast<T*>(found) : nullptr;
}

/* Descriptions. */

struct Tensor {
    UINT sizes[4];
    DML_BUFFER_TENSOR_DESC buffer;
    DML_TENSOR_DESC desc;
    Tensor(UINT height, UINT width, DML_TENSOR_FLAGS flags = DML_TENSOR_FLAG_NONE)
        : sizes{1, 1, height, width},
          buffer{DML_TENSOR_DATA_TYPE_FLOAT32, flags, 4, sizes, nullptr, UINT64{4} * height * width, 0},
          desc{DML_TENSOR_TYPE_BUFFER, &buffer} {}
    Tensor(const Tensor&) = delete;
    Tensor& operator=(const Tensor&) = delete;
};

/* An addition, perhaps with a wrong size or a tensor that DirectML owns. */
struct Add {
    Tensor a, b, sum;
    DML_ELEMENT_WISE_ADD_OPERATOR_DESC add;
    DML_OPERATOR_DESC desc;
    explicit Add(UINT width = 4, DML_TENSOR_FLAGS flags = DML_TENSOR_FLAG_NONE)
        : a(4, 4), b(4, width, flags), sum(4, 4), add{&a.desc, &b.desc, &sum.desc}, desc{DML_OPERATOR_ELEMENT_WISE_ADD, &add} {}
};

IDMLOperator* create(IDMLDevice* device, const DML_OPERATOR_DESC& desc) {
    void* out = nullptr;
    return device->CreateOperator(&desc, strict::operator_iid, &out) == S_OK ? static_cast<IDMLOperator*>(out) : nullptr;
}

IDMLCompiledOperator* compile(IDMLDevice* device, IDMLOperator* op, DML_EXECUTION_FLAGS flags = DML_EXECUTION_FLAG_NONE) {
    void* out = nullptr;
    return device->CompileOperator(op, flags, strict::compiled_iid, &out) == S_OK ? static_cast<IDMLCompiledOperator*>(out) : nullptr;
}

IDMLBindingTable* table_of(IDMLDevice* device, IDMLDispatchable* what, UINT size = 8) {
    const DML_BINDING_TABLE_DESC desc = {what, {1}, {1}, size};
    void* out = nullptr;
    return device->CreateBindingTable(&desc, strict::table_iid, &out) == S_OK ? static_cast<IDMLBindingTable*>(out) : nullptr;
}

IDMLOperatorInitializer* initializer_of(IDMLDevice* device, UINT count, IDMLCompiledOperator* const* operators) {
    void* out = nullptr;
    const HRESULT result = device->CreateOperatorInitializer(count, operators, strict::initializer_iid, &out);
    return result == S_OK ? static_cast<IDMLOperatorInitializer*>(out) : nullptr;
}

IDMLCommandRecorder* recorder_of(IDMLDevice* device) {
    void* out = nullptr;
    return device->CreateCommandRecorder(strict::recorder_iid, &out) == S_OK ? static_cast<IDMLCommandRecorder*>(out) : nullptr;
}

template <class... Interfaces>
void release(Interfaces*... objects) {
    (objects->Release(), ...);
}

/* Bindings of whole buffers. */
struct Bound {
    DML_BUFFER_BINDING ranges[16] = {};
    DML_BINDING_DESC descs[16] = {};
    UINT count = 0;
    Bound& at(ID3D12Resource* buffer, UINT64 offset, UINT64 size) {
        ranges[count] = {buffer, offset, size};
        descs[count] = {DML_BINDING_TYPE_BUFFER, &ranges[count]};
        ++count;
        return *this;
    }
    Bound& none() {
        descs[count++] = {DML_BINDING_TYPE_NONE, nullptr};
        return *this;
    }
};

IDMLDevice* wrap(strict::Device* real, dmlops::checks how = {}) {
    return dmlops::checked(real, print, how);
}

/* What is done. */

void identity() {
    auto* real = new strict::Device;
    IDMLDevice* device = wrap(real);
    real->Release();
    auto* unknown = as<IUnknown>(device, strict::unknown);
    auto* device1 = as<IDMLDevice1>(device, strict::device1_iid);
    auto* debug = as<IDMLDebugDevice>(device, strict::debug_iid);
    auto* again = as<IUnknown>(debug, strict::unknown);
    auto* back = as<IDMLDevice>(debug, strict::device_iid);
    fact("one identity", unknown == again && back == device && static_cast<IDMLDevice*>(device1) == device);
    debug->SetMuteDebugOutput(1);
    fact("debug device is DirectML's", real->is_muted);
    fact("unknown interfaces stay unknown", as<IUnknown>(device, strict::name_key) == nullptr);
    fact("reference counts", device->AddRef() == 7 && device->Release() == 6);
    release(unknown, device1, debug, again, back);

    Add good;
    IDMLOperator* op = create(device, good.desc);
    IDMLCompiledOperator* compiled = compile(device, op);
    IDMLOperatorInitializer* initializer = initializer_of(device, 1, &compiled);
    IDMLBindingTable* table = table_of(device, initializer);
    IDMLCommandRecorder* recorder = recorder_of(device);
    IDMLDeviceChild* children[] = {initializer, table, recorder};
    bool same = true, one_each = true, private_data = true;
    for (IDMLDeviceChild* child : children) {
        void* owner = nullptr;
        same = same && child->GetDevice(strict::device_iid, &owner) == S_OK && owner == device;
        static_cast<IDMLDevice*>(owner)->Release();
        auto* first = as<IUnknown>(child, strict::unknown);
        auto* second = as<IDMLDeviceChild>(child, strict::child_iid);
        one_each = one_each && static_cast<IUnknown*>(second) == first;
        release(first, second);
        const int given = 42;
        int found = 0;
        UINT size = sizeof found;
        private_data = private_data && child->SetPrivateData(strict::device_iid, sizeof given, &given) == S_OK &&
                       child->GetPrivateData(strict::device_iid, &size, &found) == S_OK && found == 42 && size == sizeof found;
    }
    fact("children give the checked device", same);
    fact("children have one identity each", one_each);
    fact("private data stay", private_data);
    auto* pageable = as<IDMLPageable>(initializer, strict::pageable_iid);
    IDMLPageable* const evicted[] = {pageable, compiled};
    fact("objects can be evicted", device->Evict(2, evicted) == S_OK && device->MakeResident(2, evicted) == S_OK);
    pageable->Release();
    table->Reset(nullptr);
    const DML_BINDING_TABLE_DESC other = {compiled, {1}, {1}, 8};
    fact("tables can be reset", table->Reset(&other) == S_OK);
    fact("initializers can be reset", initializer->Reset(1, &compiled) == S_OK);
    fact("DirectML sees its own objects", real->foreign == 0);
    fact("without a sink, it is the device itself", dmlops::checked(real, nullptr) == real && real->Release() > 0);
    release(op, compiled, initializer, table, recorder, device);
}

void operators(const dmlops::checks& how) {
    auto* real = new strict::Device;
    IDMLDevice* device = wrap(real, how);
    real->Release();
    Add good, bad(3);
    void* out = real;
    fact("a bad operator", device->CreateOperator(&bad.desc, strict::operator_iid, &out) == E_INVALIDARG && out == nullptr);
    device->CreateOperator(&bad.desc, strict::operator_iid, &out);
    fact("only asked", device->CreateOperator(&good.desc, strict::operator_iid, nullptr) == S_FALSE);
    if (IDMLOperator* op = create(device, good.desc)) {
        const UINT number = 9;
        DML_EXECUTION_FLAGS flags;
        std::memcpy(&flags, &number, sizeof flags);
        op->SetName(L"the sum");
        if (IDMLCompiledOperator* compiled = compile(device, op, flags)) {
            compiled->Release();
        }
        op->Release();
    }
    UINT answer = 0;
    device->CheckFeatureSupport(DML_FEATURE_TENSOR_DATA_TYPE_SUPPORT, 1, &answer, sizeof answer, &answer);
    real->policy = strict::Policy::refuse;
    create(device, good.desc);
    real->policy = strict::Policy::accept;
    if (IDMLOperator* op = create(device, bad.desc)) {
        op->Release();
    }
    device->Release();
}

/* A sum that is copied; one input of the sum has no edge, and the copy reads more than is written. */
void graphs() {
    auto* real = new strict::Device;
    IDMLDevice* device = wrap(real);
    real->Release();
    Add sum;
    Tensor wide(4, 8);
    const DML_ELEMENT_WISE_IDENTITY_OPERATOR_DESC identity_desc = {&wide.desc, &wide.desc, nullptr};
    const DML_OPERATOR_DESC copy_desc = {DML_OPERATOR_ELEMENT_WISE_IDENTITY, &identity_desc};
    IDMLOperator* first = create(device, sum.desc);
    IDMLOperator* second = create(device, copy_desc);
    const DML_OPERATOR_GRAPH_NODE_DESC named[] = { {first, "sum"}, {second, "copy"}};
    DML_GRAPH_NODE_DESC nodes[] = { {DML_GRAPH_NODE_TYPE_OPERATOR, &named[0]}, {DML_GRAPH_NODE_TYPE_OPERATOR, &named[1]}};
    const DML_INPUT_GRAPH_EDGE_DESC from = {0, 0, 0, nullptr};
    const DML_INTERMEDIATE_GRAPH_EDGE_DESC between = {0, 0, 1, 0, nullptr};
    const DML_OUTPUT_GRAPH_EDGE_DESC to = {1, 0, 0, nullptr};
    const DML_GRAPH_EDGE_DESC edges[] = { {DML_GRAPH_EDGE_TYPE_INPUT, &from}, {DML_GRAPH_EDGE_TYPE_INTERMEDIATE, &between}, {DML_GRAPH_EDGE_TYPE_OUTPUT, &to}};
    DML_GRAPH_DESC graph = {1, 1, 2, nodes, 1, &edges[0], 1, &edges[2], 1, &edges[1]};
    auto* device1 = as<IDMLDevice1>(device, strict::device1_iid);
    void* out = nullptr;
    fact("the graph is compiled", device1->CompileGraph(&graph, DML_EXECUTION_FLAG_NONE, strict::compiled_iid, &out) == S_OK);
    static_cast<IUnknown*>(out)->Release();
    IDMLOperator* raw = create(real, sum.desc); /* behind the back of the checked device */
    const DML_OPERATOR_GRAPH_NODE_DESC unseen = {raw, nullptr};
    nodes[0].Desc = &unseen;
    device1->CompileGraph(&graph, DML_EXECUTION_FLAG_NONE, strict::compiled_iid, &out);
    static_cast<IUnknown*>(out)->Release();
    release(raw, first, second, device1, device);
}

/* An addition whose second tensor DirectML owns; everything is right, or one thing is wrong. Its last line is a fact. */
void bindings(const std::string& wrong) {
    const auto is = [&](const char* what) { return wrong == what; };
    auto* real = new strict::Device;
    dmlops::checks how;
    how.advise = true;
    IDMLDevice* device = wrap(real, how);
    real->Release();
    Add sum(4, DML_TENSOR_FLAG_OWNED_BY_DML);
    IDMLOperator* op = create(device, sum.desc);
    IDMLCompiledOperator* compiled = compile(device, op);
    IDMLOperatorInitializer* initializer = initializer_of(device, 1, &compiled);
    IDMLCommandRecorder* recorder = recorder_of(device);
    strict::Buffer a(4096), b(4096), small(32);
    compiled->SetName(L"layer 1");

    IDMLBindingTable* table = table_of(device, initializer, is("descriptors") ? 1 : 8);
    const DML_BUFFER_BINDING owned[] = { {nullptr, 0, 0}, {is("upload") ? &small : &a, 0, is("upload") ? UINT64{32} : UINT64{64}}};
    const DML_BUFFER_ARRAY_BINDING array = {is("array") ? 1u : 2u, owned};
    const DML_BINDING_DESC weights = {DML_BINDING_TYPE_BUFFER_ARRAY, &array};
    Bound persistent;
    persistent.at(&b, 0, 256);
    table->BindInputs(1, &weights);
    table->BindOutputs(1, persistent.descs);
    if (!is("uninitialized")) {
        recorder->RecordDispatch(nullptr, initializer, table);
    }

    const DML_BINDING_TABLE_DESC next = {compiled, {1}, {1}, 8};
    table->Reset(&next);
    Bound inputs, outputs, temporary;
    inputs.at(&a, is("offset") ? 8 : 1024, is("size") ? 32 : 64);
    if (is("owned")) {
        inputs.at(&a, 2048, 64);
    } else {
        inputs.none();
    }
    if (is("count")) {
        inputs.none();
    }
    outputs.at(&a, is("bounds") ? 4080 : is("overlap") ? 1040 : is("in place") ? 1024 : 3072, 64);
    temporary.at(&b, 512, is("temporary") ? 16 : 512);
    if (!is("unbound")) {
        table->BindInputs(is("removed") ? 9 : inputs.count, inputs.descs);
    }
    if (is("null")) {
        outputs.ranges[0].Buffer = nullptr;
    }
    table->BindOutputs(outputs.count, outputs.descs);
    table->BindTemporaryResource(temporary.descs);
    if (is("moved")) {
        persistent.ranges[0].Offset = 1024;
    }
    table->BindPersistentResource(persistent.descs);
    recorder->RecordDispatch(nullptr, is("other") ? static_cast<IDMLDispatchable*>(initializer) : compiled, table);
    fact("DirectML sees its own objects", real->foreign == 0);
    release(op, compiled, initializer, table, recorder, device);
}

#ifndef _WIN32
/* Foreign threads: each makes, compiles, binds and records, on one device and one compiled operator. */
void threads() {
    auto* real = new strict::Device;
    std::atomic<int> reports{0};
    IDMLDevice* device = dmlops::checked(real, [&](const dmlops::report&) { ++reports; });
    real->Release();
    Add good;
    IDMLOperator* op = create(device, good.desc);
    IDMLCompiledOperator* shared = compile(device, op);
    std::vector<std::thread> all;
    for (int i = 0; i < 4; ++i) {
        all.emplace_back([&, i] {
            strict::Buffer buffer(4096);
            IDMLCommandRecorder* recorder = recorder_of(device);
            for (int round = 0; round < 50; ++round) {
                Add own, wrong(static_cast<UINT>(5 + i));
                IDMLOperator* made = create(device, own.desc);
                create(device, wrong.desc);
                IDMLCompiledOperator* compiled = compile(device, made);
                IDMLOperatorInitializer* initializer = initializer_of(device, 1, round % 2 ? &shared : &compiled);
                IDMLBindingTable* table = table_of(device, round % 2 ? shared : compiled);
                Bound inputs;
                inputs.at(&buffer, 0, 64).at(&buffer, 64, 64);
                table->BindInputs(inputs.count, inputs.descs);
                recorder->RecordDispatch(nullptr, round % 2 ? shared : compiled, table);
                release(made, compiled, initializer, table);
            }
            recorder->Release();
        });
    }
    for (std::thread& one : all) {
        one.join();
    }
    fact("each mistake is reported once", reports == 5);
    release(shared, op, device);
}
#endif

} /* namespace */

int main(int argc, char** argv) {
    const std::string what = argc > 1 ? argv[1] : "";
    const std::string detail = argc > 2 ? argv[2] : "";
    dmlops::checks how;
    if (what == "identity") {
        identity();
    } else if (what == "operators") {
        how.refuse = detail == "refuse";
        how.limit = detail == "all" ? 0 : 1;
        how.capture = argc > 3 ? argv[3] : "";
        if (detail == "mute") {
            how.mute = {"DML-ELEMENT_WISE_ADD-same-sizes", "DML-CALL-compile-flags"};
        }
        operators(how);
    } else if (what == "graphs") {
        graphs();
    } else if (what == "bindings") {
        for (int one = 2; one < argc; ++one) {
            bindings(argv[one]);
        }
#ifndef _WIN32
    } else if (what == "threads") {
        threads();
#endif
    }
    std::printf("objects left: %d\n", static_cast<int>(strict::Registry::get().count()));
    return 0;
}
