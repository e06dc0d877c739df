"""Enumerations, constants and structs of DirectML in Rust, from registry.json only:

    python examples/rust_structs.py generated/registry.json > directml.rs

rustc checks that sizes and alignments are those in registry.json.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

LETTERS = {"float": "f", "signed": "i", "unsigned": "u"}
HEAD = "#[repr(C)] #[derive(Clone, Copy)] pub"


def rust(registry: dict[str, Any]) -> Iterator[str]:
    """The lines of the module."""
    numbers = {
        one["name"]: "usize" if "pointer_sized" in one else f"{LETTERS[one['kind']]}{one['bits']}"
        for one in registry["types"]
    }
    declared = {one["c_name"] for one in (*registry["enums"], *registry["structs"])}
    declared |= registry["foreign"].keys()
    yield "#![allow(non_camel_case_types, non_snake_case, dead_code)]"
    for constant in registry["constants"]:
        yield f"pub const {constant['name']}: u32 = {constant['value']};"
    for enum in registry["enums"]:
        yield f"pub type {enum['c_name']} = i32;"
        for entry in enum["entries"]:
            yield f"pub const {enum['prefix']}{entry['name']}: {enum['c_name']} = {entry['value']};"
    for name, (member, type_) in registry["foreign"].items():
        yield f"{HEAD} struct {name} {{ pub {member}: {numbers[type_]} }}"
    for struct in (*registry["structs"], *registry["operators"]):
        name = struct["c_name"]
        yield f"/// {struct.get('summary', '')}"
        yield f"{HEAD} {'union' if 'union' in struct else 'struct'} {name} {{"
        for member in struct["members"]:
            yield f"    /// {member.get('summary', '')}"
            yield f"    pub {member['name']}: {rust_type(member, numbers, declared)},"
        yield "}"
        for what, (expected, _) in (("size_of", struct["size"]), ("align_of", struct["alignment"])):
            yield f"const _: () = assert!(std::mem::{what}::<{name}>() == {expected});"


def rust_type(member: dict[str, Any], numbers: dict[str, str], declared: set[str]) -> str:
    """The type of a member; the C type `const DML_TENSOR_DESC*` becomes `*const DML_TENSOR_DESC`."""
    name = member["c_type"].removeprefix("const ").removesuffix("*")
    one = numbers.get(member["type"]) or (name if name in declared else "std::ffi::c_void")
    if "length" in member:
        return f"[{one}; {member['length']}]"
    return f"*const {one}" if "pointer" in member else one


if __name__ == "__main__":
    print("\n".join(rust(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))))
