"""Generated Python imports what it uses, and nothing else."""

from __future__ import annotations

from dmlgen.outputs.python_imports import with_used_imports

MODULE = '''"""A module."""

from __future__ import annotations

import math
import re
from os import path, sep
from .a import one, two as three, four
from .b import kept as kept
from .c import (
    {many},
)

VALUE: three = one(re.match, *({several},))
'''


def test_only_names_that_are_used_stay() -> None:
    many = [f"a_name_that_is_rather_long_{number}" for number in range(6)]
    text = MODULE.format(many=", ".join(many), several=", ".join(many[:4]))
    lines = with_used_imports(text).splitlines()
    assert "from __future__ import annotations" in lines and "import re" in lines
    assert "import math" not in lines and not any(line.startswith("from os") for line in lines)
    assert "from .a import one, two as three" in lines and "from .b import kept as kept" in lines
    first = lines.index("from .c import (")
    assert lines[first + 1 : first + 6] == [*(f"    {name}," for name in many[:4]), ")"]


def test_a_module_that_uses_all_stays_as_it_is() -> None:
    text = "from a import b, c\nimport d\n\nprint(b, c, d)\n"
    assert with_used_imports(text) == text
