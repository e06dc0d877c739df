"""What a schedule is: a form that definitions may have, or an algorithm, with the parts that differ."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dmlgen.expr import ir
from dmlgen.registry import AlgorithmUse, Definition


@dataclass(frozen=True)
class Steps:
    """Parts of the work that differ by case: expressions of elements, see `ir.STEP_NAMES`, by name.

    `case` is the value of the enumeration that chooses them, ALWAYS where there is no choice.
    """

    case: str
    expressions: Mapping[str, ir.Expr]


@dataclass(frozen=True)
class Schedule:
    """A fast way to compute an operator: a form of its definition, or its algorithm.

    The form "map" works element by element: at each coordinate `at` of `over` (the output, or an array of
    tensors, each of which in turn is number `index`) it stores `value` at `place` in `output` (None: at
    `at`), and "gather" is a map that looks up where it reads. Every other form is a function of its own of
    the `roles`: tensors, and expressions of the description.
    """

    form: str
    output: str
    over: str
    definitions: tuple[Definition, ...]
    value: ir.Expr | None
    place: ir.Expr | None
    roles: Mapping[str, ir.Expr]
    steps: tuple[Steps, ...]

    @property
    def expressions(self) -> tuple[ir.Expr, ...]:
        """All of it that is computed from the description and from elements."""
        whole = [self.value, self.place, *self.roles.values()]
        parts = [part for step in self.steps for part in step.expressions.values()]
        return (*(node for node in whole if node is not None), *parts)


@dataclass(frozen=True)
class Factor:
    """A factor of the products that are summed: the element of `tensor` that `places` say.

    For each dimension of the tensor, those of a window apart, `places` has the dimension of the output whose
    coordinate is taken; the output's dimension count where it is the number of the product, and one more
    where it is 0.
    """

    tensor: str
    places: ir.Expr


@dataclass(frozen=True)
class Window:
    """A box of `sizes` over whose coordinates the products run, too: the last dimensions of both factors.

    In each of them a coordinate of the left factor is a sum of a constant and a multiple of the window's; of
    the right one also of a multiple of the output's in dimension `axes`, and where that is outside, there is
    no product. Lists have the coordinates where all that they are sums of is 0 (`first`), the output's
    coordinate is 1 instead (`steps`), and where the window's is 1 (`taps`). There are `groups`, each of which
    has its own part of the left factor's rows and of the right one's second dimension.
    """

    sizes: ir.Expr
    groups: ir.Expr
    axes: ir.Expr
    left_first: ir.Expr
    left_taps: ir.Expr
    right_first: ir.Expr
    right_steps: ir.Expr
    right_taps: ir.Expr


@dataclass(frozen=True)
class Contraction:
    """A faster way to an output whose elements follow from sums of products (`schedules`).

    It is one where `when` holds. There are `depth` products, or so many at each place of the window. `value`
    is the element, made of the sum, the local `total`.
    """

    output: str
    when: ir.Expr
    left: Factor
    right: Factor
    depth: ir.Expr
    window: Window | None
    value: ir.Expr


@dataclass(frozen=True)
class Frame:
    """Where places of a window are: in each of its dimensions, the coordinate where the output's and the
    window's are 0 (`first`), where the output's is 1 instead (`steps`), where the window's is (`taps`), and
    the sizes of the box that they are in, or outside of (`limits`)."""

    first: ir.Expr
    steps: ir.Expr
    taps: ir.Expr
    limits: ir.Expr


@dataclass(frozen=True)
class Sliding:
    """A faster way to outputs that follow from a fold of what lies under a window of `tensor` (`schedules`).

    `places` is what `Factor` has; the window, of `sizes`, goes over the dimensions behind those, along the
    output's in `axes`. `fold` is the fold as defined, `term` what is folded, made of the local `element`, and
    `values` are what outputs are, made of the local `total`. Of `counted`, they ask how many places of the
    window are in its box.
    """

    tensor: str
    places: ir.Expr
    sizes: ir.Expr
    axes: ir.Expr
    window: Frame
    counted: Frame | None
    fold: ir.Fold
    element: ir.Local
    term: ir.Expr
    values: Mapping[str, ir.Expr]


@dataclass(frozen=True)
class Attention:
    """A faster way to an intermediate tensor: attention in one pass, which keeps no scores (`schedules`).

    All tensors have four dimensions: batch, head, row, element. A row of `target`, of each `query`, is the
    mean of the rows of `value`, weighted by the exponentials of scores; a `score` is made of the local
    `total`, the product of the query and a row of `key`, at batch, head, query and key in `at`. `key_head`
    and `value_head` are the batch and the head that are read for those of the query in `at`. `counts` says
    which keys take part; all do where it is None.
    """

    target: str
    query: str
    key: str
    value: str
    key_head: ir.ListOf
    value_head: ir.ListOf
    score: ir.Expr
    counts: ir.Expr | None


@dataclass(frozen=True)
class Sum:
    """A sum of products, the local `name`: of factor number `factor` and the weights from `place` on."""

    name: str
    factor: int
    place: tuple[ir.Expr, ...]


@dataclass(frozen=True)
class Sums:
    """A faster way to intermediate tensors that are written together: groups of threads share their sums of
    products (`schedules`).

    It is one where `when` holds. `values` are those of the tensors at `at`, by name, made of `sums`. Products
    are of an element of `weights` and of one of `factors`, each of which is a product of reads. Coordinates
    of all of them end with the number of the product. Weights depend on dimensions `rows` of what is written
    and not on `columns`, factors the other way round; both may depend on the rest of its `rank`.
    """

    when: ir.Expr
    values: tuple[tuple[str, ir.Expr], ...]
    along: bool
    weights: str
    factors: tuple[tuple[ir.Load | ir.Entry, ...], ...]
    sums: tuple[Sum, ...]
    rows: tuple[int, ...]
    columns: tuple[int, ...]
    rank: int


@dataclass(frozen=True)
class Statistic:
    """A number of each row, `name`: `value` of sums over it, the locals `total0` and so on, of statistics
    before it, and of elements at the row's own coordinate, locals such as `ScaleTensorOfRow`. What is summed
    is made of statistics before it and of elements, locals such as `InputTensorElement`."""

    name: str
    sums: tuple[ir.Expr, ...]
    value: ir.Expr


@dataclass(frozen=True)
class Rows:
    """A faster way to all outputs: the rows of `source` one by one, with their statistics (`schedules`).

    `reduced` has for each of its dimensions 1 if rows run along it, else 0; it is empty where there are no
    statistics, and any dimensions may make a row. `elements` are the tensors read at the element itself;
    where sizes are 1, others are read at 0. `each` are values of outputs as large as `source`, made of
    elements, statistics and `parts`, which may be the same for a whole row; `of_rows` those of outputs with
    an entry for each row.
    """

    source: str
    reduced: ir.Expr
    statistics: tuple[Statistic, ...]
    elements: frozenset[str]
    parts: Mapping[str, ir.Expr]
    each: Mapping[str, ir.Expr]
    of_rows: Mapping[str, ir.Expr]


def schedule_of_algorithm(algorithm: AlgorithmUse) -> Schedule:
    """The only way to compute what has no definition."""
    return Schedule(
        form=algorithm.name,
        output=algorithm.output,
        over=algorithm.output,
        definitions=algorithm.definitions,
        value=None,
        place=algorithm.place,
        roles=algorithm.roles,
        steps=(),
    )
