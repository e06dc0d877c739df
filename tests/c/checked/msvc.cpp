/* Compiled for the ABI of MSVC, without any header: what an app that Visual Studio builds does. */
struct Properties {
    unsigned count;
    unsigned long long temporary, persistent;
};
struct Unknown {
    virtual long query(const void*, void**) = 0;
    virtual unsigned long add() = 0;
    virtual unsigned long release() = 0;
};
struct Object : Unknown {
    virtual long get_private_data(const void*, unsigned*, void*) = 0;
    virtual long set_private_data(const void*, unsigned, const void*) = 0;
    virtual long set_private_data_interface(const void*, Unknown*) = 0;
    virtual long set_name(const wchar_t*) = 0;
};
struct Child : Object {
    virtual long get_device(const void*, void**) = 0;
};
struct Dispatchable : Child {
    virtual Properties get_binding_properties() = 0;
};
extern "C" unsigned descriptors(void* dispatchable) {
    return static_cast<Dispatchable*>(dispatchable)->get_binding_properties().count;
}
