"""DXIL, as DXC disassembles it, to C that runtime.h can run.

DXIL is LLVM 3.7's language with calls of `dx.op.*` functions. Each instruction becomes a statement that does
just what it says, and each value a variable. In C compiled for `LOOSE`, operations that DXIL flags "fast" and
not precise are left to the C compiler, which may reassociate and fuse them as a driver may; all others are
kept as they are (`kept_float` and the like). Other flags ("nsw", "inbounds") are left aside.

What compute shaders of ours do not use (textures, vectors) is rejected with Untranslatable.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial

from dxil import operations as op
from dxil.text import FLAGS, NAME, Metadata, Untranslatable, number, parts, pointer_or, real, typed

SIZES = {"i1": 1, "i8": 1, "i16": 2, "i32": 4, "i64": 8, "half": 2, "float": 4, "double": 8}
REALS = ("half", "float", "double")
SRV, UAV, CBV = 0, 1, 2
RAW_BUFFER, STRUCTURED_BUFFER = 11, 12

INTEGER = {"add": "+", "sub": "-", "mul": "*", "and": "&", "or": "|", "xor": "^"}
SHIFTS = {"shl": "<<", "lshr": ">>", "ashr": ">>"}
DIVISIONS = {"udiv": "/", "urem": "%", "sdiv": "/", "srem": "%"}
FLOATING = {"fadd": "+", "fsub": "-", "fmul": "*", "fdiv": "/"}
ORDERS = {"eq": "==", "ne": "!=", "gt": ">", "ge": ">=", "lt": "<", "le": "<="}
CASTS = ("zext", "sext", "trunc", "fpext", "fptrunc", "sitofp", "uitofp", "fptosi", "fptoui", "bitcast")
ATOMICS = ("add", "and", "or", "xor", "min", "max", "umin", "umax", "xchg", "sub")  # numbered as in DXIL

Jump = Callable[[str], str]  # the C that goes to a block


class Translation:
    """A shader's C; `prefix` starts all names outside functions, so that a file holds several shaders."""

    def __init__(self, text: str, prefix: str) -> None:
        self.prefix = prefix
        self.metadata = Metadata(text)
        self.structs: dict[str, list[str]] = {"{ i32, i1 }": ["i32", "i1"], "{ i64, i1 }": ["i64", "i1"]}
        self.globals: dict[str, str] = {}
        self.shared: list[str] = []  # the arrays of the group
        self.head: list[str] = []  # declarations outside functions
        self.body: list[str] = []
        self.kinds: dict[str, str] = {}  # the types of the function's values
        self.arrays: list[str] = []  # the function's
        self.sites = 0  # where threads wait for others
        self.is_loose = False  # whether C compiled for LOOSE may compute something else
        lines = iter(line.split("  ;")[0].rstrip() for line in text.splitlines())
        for line in lines:
            if match := re.match(rf"({NAME}) = type \{{(.*)\}}", line):
                self.structs[match[1]] = parts(match[2])
            elif line.startswith("@"):
                self._global(line)
            elif line.startswith("define "):
                self._function(line, lines)

    def c(self) -> str:
        """All of it; the shader itself is the constant that ends it, with what runtime.h asks of shaders."""
        structs = [
            f"typedef struct {{ {' '.join(f'{t} m{i};' for i, t in enumerate(of))} }} {self._mangled(name)};"
            for name, of in self.structs.items()
            if re.match(r"%dx\.types\.(ResRet|CBufRet|splitdouble|fouri32)|\{", name)
        ]
        forget = [f"memset({name}, undefined, sizeof {name});" for name in self.shared]
        entry = self.metadata.first("dx.entryPoints")
        return "\n".join(
            [
                *structs, *self.head, *self.body,
                f"static void {self.prefix}forget(void) {{ {' '.join(forget)} }}",
                f"static const resource {self.prefix}resources[] = {{{', '.join(self._resources(entry))}}};",
                f"static const shader {self.prefix}shader = {{",
                f"    {{{', '.join(self._threads(entry))}}}, {self.sites}, {self.prefix}resources,",
                f"    sizeof {self.prefix}resources / sizeof(resource), {self.prefix}forget,",
                f"    {self._mangled(entry[0].split()[-1])}}};",
            ]
        )  # fmt: skip

    def _threads(self, entry: list[str]) -> list[str]:
        """The threads of a group, x, y and z: what follows tag 4 of the entry point's properties."""
        pairs = self.metadata.record(entry[4])
        return [str(number(one)) for one in self.metadata.record(pairs[pairs.index("i32 4") + 1])]

    def _resources(self, entry: list[str]) -> Iterator[str]:
        for kind, reference in zip((SRV, UAV, CBV), self.metadata.record(entry[3]), strict=False):
            for one in self.metadata.record(reference):
                fields = self.metadata.record(one)
                yield f"{{{kind}, {number(fields[4])}, {self._stride(kind, fields)}}}"

    def _stride(self, kind: int, fields: list[str]) -> int:
        """The bytes of an element; 1 of buffers that are addressed by the byte."""
        if kind == CBV:
            return 16
        form = number(fields[6])
        if form == RAW_BUFFER:
            return 1
        if form != STRUCTURED_BUFFER:
            raise Untranslatable(f"a resource of kind {form}")
        pairs = self.metadata.record(fields[-1])
        return number(pairs[pairs.index("i32 1") + 1])

    def _type(self, kind: str) -> str:
        """The type in C. Integers of unusual width are in wider ones, whose other bits are 0."""
        if kind in SIZES or kind == "void":
            return kind
        if kind == "*":
            return "char *"
        if kind == "%dx.types.Handle":
            return "buffer *"
        if re.fullmatch(r"i\d+", kind):
            return f"i{container(kind)}"
        if kind in self.structs:
            return self._mangled(kind)
        raise Untranslatable(f"the type {kind}")

    def _size(self, kind: str) -> int:
        if match := re.fullmatch(r"\[(\d+) x (.*)\]", kind):
            return int(match[1]) * self._size(match[2])
        if kind not in SIZES:
            raise Untranslatable(f"an array of {kind}")
        return SIZES[kind]

    def _mangled(self, name: str) -> str:
        """A name of C for one of LLVM: values and labels are a function's own, others start with `prefix`."""
        plain = re.sub(r"\W", lambda char: f"_{ord(char[0]):x}_", name[1:])
        return f"v{plain}" if re.match(r"%(?!dx\.types)", name) else f"{self.prefix}{plain}"

    def _global(self, line: str) -> None:
        match = re.match(rf"({NAME}) = (.*?)\b(?:global|constant) (.*)", line)
        if not match:
            raise Untranslatable(line)
        name = self.globals[match[1]] = f"{self.prefix}memory{len(self.globals)}"
        kind, value = typed(parts(match[3])[0])
        if "addrspace(3)" in match[2]:
            self.shared.append(name)
            self.head.append(f"static char {name}[{self._size(kind)}] __attribute__((aligned(16)));")
            return
        element = re.fullmatch(r"\[\d+ x (\w+)\]", kind)
        if not element or not value.startswith("["):
            raise Untranslatable(line)
        values = ", ".join(self._value(*typed(one)) for one in parts(value[1:-1]))
        self.head.append(f"static const {element[1]} {name}[] = {{{values}}};")

    # Functions

    def _function(self, line: str, lines: Iterator[str]) -> None:
        """Translates a function: its blocks in their order, with the values of `phi` set where jumps are."""
        match = re.match(rf"define .*?(\S+) ({NAME})\((.*?)\)", FLAGS.sub("", line))
        if not match:
            raise Untranslatable(line)
        given = [typed(one) for one in parts(match[3])]
        blocks = blocks_of(lines, f"%{sum(name[1:].isdecimal() for _, name in given)}")
        self.kinds, self.arrays = {name: kind for kind, name in given}, []
        phis = {label: [p for p in map(phi, block) if p] for label, block in blocks.items()}
        statements: list[str] = []
        for label, block in blocks.items():
            statements.append(f"{self._label(label)}:;")
            for one in block:
                if not phi(one):
                    statements += self._statement(one, partial(self._jump, phis, label))
        for arrived in phis.values():
            self.kinds |= {name: kind for name, kind, _ in arrived}
        own = [(kind, name) for name, kind in self.kinds.items() if (kind, name) not in given]
        arguments = ", ".join(f"{self._type(k)} {self._mangled(n)}" for k, n in given) or "void"
        signature = f"static {self._type(match[1])} {self._mangled(match[2])}({arguments})"
        self.head.append(signature + ";")
        self.body += [signature + " {", *self.arrays]
        self.body += [f"    {self._type(k)} {self._mangled(n)};" for k, n in own]
        self.body += [*(f"    {statement}" for statement in statements), "}"]

    def _label(self, label: str) -> str:
        return f"at_{self._mangled(label)}"

    def _jump(self, phis: dict[str, list[tuple[str, str, dict[str, str]]]], source: str, target: str) -> str:
        """Goes to a block. Its phis take their values all at once."""
        set_ = [
            (self._mangled(n), self._type(k), self._value(k, values[source])) for n, k, values in phis[target]
        ]
        set_ = [one for one in set_ if one[0] != one[2]]
        if len(set_) == 1:
            copies = [f"{set_[0][0]} = {set_[0][2]};"]
        else:
            copies = [f"{kind} next{i} = {value};" for i, (_, kind, value) in enumerate(set_)]
            copies += [f"{name} = next{i};" for i, (name, _, _) in enumerate(set_)]
        return "{ " + " ".join([*copies, f"goto {self._label(target)};"]) + " }"

    def _value(self, kind: str, text: str) -> str:
        """An operand."""
        if text.startswith("%"):
            return self._mangled(text)
        if text.startswith("@"):
            return f"(char *){self.globals[text]}"
        if text.startswith("getelementptr "):
            return self._element(FLAGS.sub("", text)[len("getelementptr ") :].strip()[1:-1])
        if text.startswith("bitcast ") and kind == "*":
            return self._value(*typed(text[len("bitcast ") :].strip()[1:-1].rsplit(" to ", 1)[0]))
        if text == "undef":
            return f"UNDEFINED({self._type(kind)})"
        if text in ("true", "false"):
            return text
        if kind in REALS:
            return real(kind, text)
        if re.fullmatch(r"i\d+", kind):
            whole = 0 if text == "zeroinitializer" else int(text)
            return f"({self._type(kind)}){whole % 2 ** width(kind):#x}{'ull' if kind == 'i64' else 'u'}"
        raise Untranslatable(f"the operand {kind} {text}")

    def _element(self, text: str) -> str:
        """The address that `getelementptr` computes; no address beyond an array's end."""
        kind, base, *indices = parts(text)
        at = self._value(*typed(base))
        if number(indices[0]) != 0:
            raise Untranslatable(f"getelementptr {text}")
        for one in indices[1:]:
            match = re.fullmatch(r"\[(\d+) x (.*)\]", kind)
            if not match:
                raise Untranslatable(f"an element of {kind}")
            kind = match[2]
            at = f"element({at}, {self._value(*typed(one))}, {match[1]}, {self._size(kind)})"
        return at

    # Instructions

    def _statement(self, line: str, jump: Jump) -> list[str]:
        match = re.match(rf"({NAME}) = (.*)", line)
        name, line = (match[1], match[2]) if match else (None, line)
        verb, _, rest = line.partition(" ")
        is_precise = "!dx.precise" in rest
        rest = re.sub(r"(, ![\w.]+ !\d+)+$", "", rest)  # metadata
        if verb == "call":
            return self._call(name, rest, is_precise)
        if name is None:
            return [self._effect(verb, rest, jump)]
        if verb == "alloca":
            size = self._size(parts(rest)[0])
            self.kinds[name] = "*"
            self.arrays.append(f"    char of_{self._mangled(name)}[{size}] __attribute__((aligned(16)));")
            return [f"{self._mangled(name)} = memset(of_{self._mangled(name)}, undefined, {size});"]
        if verb == "cmpxchg":
            at, compared, value = map(typed, parts(re.sub(r" (seq_cst|monotonic)\b", "", rest)))
            kind = self.kinds[name] = f"{{ {value[0]}, i1 }}"
            into, old = self._mangled(name), f"{self._mangled(name)}.m0"
            given = f"used({self._value(*at)}), {self._value(*compared)}, {self._value(*value)}"
            return [f"{old} = exchange_{value[0]}({given}); {into}.m1 = {old} == {self._value(*compared)};"]
        kind, c = self._expression(verb, rest)
        self.kinds[name] = kind
        return [f"{self._mangled(name)} = {c};"]

    def _effect(self, verb: str, rest: str, jump: Jump) -> str:
        if verb == "br":
            labels = re.findall(rf"label ({NAME})", rest)
            if len(labels) == 1:
                return jump(labels[0])
            return f"if ({self._value(*typed(parts(rest)[0]))}) {jump(labels[0])} else {jump(labels[1])}"
        if verb == "switch":
            value, otherwise, cases = re.fullmatch(rf"(.*), label ({NAME}) \[(.*)\]", rest).groups()  # type: ignore[union-attr]
            kind, chosen = typed(value)
            tests = re.findall(rf"{kind} (-?\w+), label ({NAME})", cases)
            return "".join(
                f"if ({self._value(kind, chosen)} == {self._value(kind, one)}) {jump(label)} else "
                for one, label in tests
            ) + jump(otherwise)
        if verb == "ret":
            return "return;" if rest == "void" else f"return {self._value(*typed(rest))};"
        if verb == "store":
            value, to = map(typed, parts(rest)[:2])
            return f"*({self._type(value[0])} *)used({self._value(*to)}) = {self._value(*value)};"
        raise Untranslatable(f"{verb} {rest}")

    def _expression(self, verb: str, rest: str) -> tuple[str, str]:
        """The type and the C of an instruction without effects."""
        is_fast, rest = rest.startswith("fast "), rest.removeprefix("fast ")
        if verb == "load":
            kind, at = parts(rest)[:2]
            return pointer_or(kind), f"*({self._type(pointer_or(kind))} *)used({self._value(*typed(at))})"
        if verb == "getelementptr":
            return "*", self._element(rest)
        if verb == "extractvalue":
            value, index = parts(rest)
            kind, whole = typed(value)
            return self.structs[kind][int(index)], f"{self._mangled(whole)}.m{index}"
        if verb in CASTS:
            value, target = rest.rsplit(" to ", 1)
            kind, one = typed(value)
            return pointer_or(target), self._cast(verb, kind, pointer_or(target), self._value(kind, one))
        if verb == "select":
            chosen, first, second = (self._value(*typed(one)) for one in parts(rest))
            return typed(parts(rest)[1])[0], f"{chosen} ? {first} : {second}"
        if verb in ("icmp", "fcmp"):
            order, _, rest = rest.partition(" ")
            kind, a, b = self._pair(rest)
            return "i1", ordered(order, a, b) if verb == "fcmp" else compared(order, kind, a, b)
        if verb == "atomicrmw":
            change, _, rest = rest.partition(" ")
            at, value = map(typed, parts(rest.split(" seq_cst")[0]))
            given = f"used({self._value(*at)}), {ATOMICS.index(change)}, {self._value(*value)}"
            return value[0], f"change_{value[0]}({given})"
        kind, a, b = self._pair(rest)
        if verb in FLOATING:
            self.is_loose |= is_fast
            sum_ = f"{kind}_in({a}) {FLOATING[verb]} {kind}_in({b})"
            kept = f"kept_{kind}(kept_{kind}({a}) {FLOATING[verb]} kept_{kind}({b}))"
            return kind, f"({kind})({sum_ if is_fast else kept})"
        wide = "uint64_t" if kind == "i64" else "uint32_t"
        if verb in INTEGER:
            return kind, self._narrow(kind, f"({wide}){a} {INTEGER[verb]} ({wide}){b}")
        if verb in SHIFTS:
            shifted = signed(kind, a) if verb == "ashr" else f"({wide}){a}"
            return kind, self._narrow(kind, f"{shifted} {SHIFTS[verb]} ({b} & {width(kind) - 1})")
        if verb in DIVISIONS:
            b = f"divisor({b})"
            a, b = (signed(kind, a), signed(kind, b)) if verb[0] == "s" else (a, b)
            wide = "int64_t" if verb[0] == "s" else "uint64_t"
            return kind, self._narrow(kind, f"({wide}){a} {DIVISIONS[verb]} {b}")
        raise Untranslatable(f"{verb} {rest}")

    def _narrow(self, kind: str, value: str) -> str:
        """An integer, of which the lowest bits are taken."""
        if width(kind) < container(kind) or kind == "i1":
            value = f"({value}) & {2 ** width(kind) - 1}"
        return f"({self._type(kind)})({value})"

    def _pair(self, rest: str) -> tuple[str, str, str]:
        first, second = parts(rest)
        kind, one = typed(first)
        return kind, self._value(kind, one), self._value(kind, second)

    def _cast(self, verb: str, source: str, target: str, value: str) -> str:
        if verb == "bitcast":
            if source == target:
                return value
            return f"bits_of_{source}({value})" if source in REALS else f"{target}_of({value})"
        if verb == "trunc":
            return self._narrow(target, value)
        if verb in ("sext", "sitofp"):
            return f"({self._type(target)}){signed(source, value)}"
        if verb in ("fptosi", "fptoui"):
            is_signed = "true" if verb == "fptosi" else "false"
            return f"({self._type(target)})whole({value}, {width(target)}, {is_signed})"
        return f"({self._type(target)}){value}"

    def _call(self, name: str | None, rest: str, is_precise: bool) -> list[str]:
        match = re.match(rf"(fast )?(.+?) ({NAME})\((.*)\)", rest)
        if not match:
            raise Untranslatable(rest)
        kind, function = match[2], match[3]
        given = [typed(one) for one in parts(match[4])]
        if name:
            self.kinds[name] = kind
        into = f"{self._mangled(name)} = " if name else ""
        if not function.startswith("@dx.op."):
            return [f"{into}{self._mangled(function)}({', '.join(self._value(*one) for one in given)});"]
        operation, given = number(" ".join(given[0])), given[1:]
        values = [self._value(*one) for one in given]
        if operation in op.PURE or operation in op.WAVE:
            return [self._computed(operation, kind, given, values, into, is_precise)]
        return [self._accessed(operation, kind, function, given, values, name)]

    def _computed(
        self,
        operation: int,
        kind: str,
        given: list[tuple[str, str]],
        values: list[str],
        into: str,
        is_precise: bool,
    ) -> str:
        """The statement of an operation without other effects than that lanes meet."""
        of = given[0][0] if given else "i32"
        meeting = (
            f"meet({self._site()}, {f'bits_of_{of}({values[0]})' if given else '0'}); "
            if operation in op.WAVE
            else ""
        )
        if of == "half" and not meeting and operation != op.MAD:
            values = [f"(float){one}" for one in values]
        c = op.PURE.get(operation) or op.WAVE[operation]
        if operation == op.MAD:
            self.is_loose = True
            c = c if is_precise else f"fast_{c}"
        c = c.replace("$F", "" if of == "double" else "f").replace("$T", of)
        if of.startswith("i"):
            c = c.replace("$U", f"uint{width(of)}_t").replace("$S", f"int{width(of)}_t").replace("$B", of[1:])
        c = f"({kind})({c.format(*values)})"
        return f"{meeting}{into}{f'kept_{kind}({c})' if is_precise and kind in REALS else c};"

    def _accessed(
        self,
        operation: int,
        kind: str,
        function: str,
        given: list[tuple[str, str]],
        values: list[str],
        name: str | None,
    ) -> str:
        """The statement of an operation on buffers, or of one that needs more than an expression."""
        into = self._mangled(name) if name else ""
        offset = lambda at: "0" if given[at][1] == "undef" else values[at]  # noqa: E731  # undefined in raw buffers
        if operation == op.CREATE_HANDLE:
            return f"{into} = &buffers[{number(' '.join(given[0]))}][{values[2]} % SLOTS];"
        if operation == op.CONSTANTS:
            return f"load_constants(&{into}, {values[0]}, {values[1]});"
        if operation == op.RAW_LOAD:
            return f"load(&{into}, sizeof {into}.m0, {values[0]}, {values[1]}, {offset(2)}, {values[3]});"
        if operation == op.RAW_STORE:
            buffer, index, _, *four, mask, _ = values
            of = given[3][0]
            return (
                f"store(({of}[]){{{', '.join(four)}}}, sizeof({of}), {buffer}, {index}, {offset(2)}, {mask});"
            )
        if operation == op.BARRIER:
            is_met = number(" ".join(given[0])) & op.SYNCHRONISES
            return f"barrier({self._site()});" if is_met else ";"
        if operation == op.ATOMIC:
            at = f"{values[0]}, {values[2]}, {offset(3)}, sizeof({kind}), {values[1]}, {values[5]}"
            call = f"change_{kind}(atomic_place({at}), {values[1]}, {values[5]});"
            return f"{into} = {call}" if name else call
        if operation == op.COMPARE_EXCHANGE:
            at = f"{values[0]}, {values[1]}, {offset(2)}, sizeof({kind}), 0, {values[5]}"
            call = f"exchange_{kind}(atomic_place({at}), {values[4]}, {values[5]});"
            return f"{into} = {call}" if name else call
        if operation == op.SPLIT_DOUBLE:
            bits = f"bits_of_double({values[0]})"
            return f"{into}.m0 = (i32){bits}; {into}.m1 = (i32)({bits} >> 32);"
        if operation == op.BALLOT:
            four = " ".join(f"{into}.m{word} = wave_ballot({word});" for word in range(4))
            return f"meet({self._site()}, {values[0]}); {four}"
        raise Untranslatable(f"{function}, operation {operation}")

    def _site(self) -> int:
        """The number of a place where threads wait for others, in the order of the text."""
        self.sites += 1
        return self.sites


def blocks_of(lines: Iterator[str], first: str) -> dict[str, list[str]]:
    """The instructions of a function, by the label of their block; the first block may have none."""
    blocks: dict[str, list[str]] = {first: []}
    label = first
    for line in lines:
        if line == "}":
            break
        if match := re.match(r'; <label>:(\d+)|([\w.$-]+|"[^"]*"):', line):
            label = "%" + (match[1] or match[2])
            blocks[label] = []
        elif line.strip():
            text = line.strip()
            while text.startswith("switch ") and "]" not in text:
                text += " " + next(lines).strip()
            blocks[label].append(FLAGS.sub("", text))
    return blocks


def phi(line: str) -> tuple[str, str, dict[str, str]] | None:
    """Name, type, and values by the block that control comes from."""
    match = re.match(rf"({NAME}) = phi (.*)", line)
    if not match:
        return None
    kind, rest = typed(match[2])
    pairs = (parts(one[1:-1].strip()) for one in parts(rest) if one.startswith("["))
    return match[1], kind, {label: value for value, label in pairs}


def ordered(order: str, a: str, b: str) -> str:
    """A comparison of floats; those that start with u are also true if one is not a number."""
    if order in ("ord", "uno"):
        return f"{'!' if order == 'ord' else ''}(isnan({a}) || isnan({b}))"
    if order in ("true", "false"):
        return order
    if order == "one":
        return f"({a} < {b} || {a} > {b})"
    if order == "ueq":
        return f"!({a} < {b} || {a} > {b})"
    if order == "une" or order[0] == "o":
        return f"{a} {ORDERS[order[1:]]} {b}"
    opposite = {"gt": "<=", "ge": "<", "lt": ">=", "le": ">"}[order[1:]]
    return f"!({a} {opposite} {b})"


def compared(order: str, kind: str, a: str, b: str) -> str:
    """A comparison of integers."""
    if order[0] == "s":
        return f"{signed(kind, a)} {ORDERS[order[1:]]} {signed(kind, b)}"
    return f"{a} {ORDERS[order.removeprefix('u')]} {b}"


def width(kind: str) -> int:
    return int(kind[1:])


def container(kind: str) -> int:
    """The bits of the C type for an integer type."""
    return next(bits for bits in (8, 16, 32, 64) if width(kind) <= bits)


def signed(kind: str, value: str) -> str:
    """An integer, seen as signed."""
    bits, unused = container(kind), container(kind) - width(kind)
    if not unused:
        return f"(int{bits}_t){value}"
    return f"((int{bits}_t)((uint{bits}_t){value} << {unused}) >> {unused})"
