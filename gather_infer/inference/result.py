"""What a run of the inference returns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

from gather_infer.diagnostic import Diagnostic, Severity
from gather_infer.domains import qualified
from gather_infer.errors import UnknownName, UsageError
from gather_infer.lazy import resolved
from gather_infer.places import MAIN, GraphPath, NodePath, Source
from gather_infer.record import Assumption, Cause, Constraint, Demand, Iterations, PathCondition, Unchecked
from gather_infer.symbolic import Dim, Expr, Scope
from gather_infer.tensor import Shape, SymbolicTensor, Value, format_shape

if TYPE_CHECKING:
    import os

    import onnx

    from gather_infer.access import Addressing
    from gather_infer.cost import Cost
    from gather_infer.inference.lineage.trace import Part, Trace
    from gather_infer.inference.said import Given
    from gather_infer.inference.stated import Statement
    from gather_infer.model import ModelFile, SaveReport
    from gather_infer.rules import RuleSet

Cell: TypeAlias = "str | int | bool | None"
"""What a row of a table has in a column."""


@dataclass(frozen=True, slots=True)
class Sweep:
    """The numbers of the iterations of a loop in which a node is reached: from 0 on, below `end`.

    symbol  the generated one that stands for the number
    is_all  they are all of these numbers; False where that is not known
    """

    symbol: str
    end: Dim
    is_all: bool


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """What is known when a run comes to a node: neither it nor a node after it has implied any of this.

    A verdict rests on it. Judged by what the node itself implies, every access would be in bounds.

    scope      what is declared, and implied by the nodes before
    indices    the index tensor
    trace      where its elements come from
    causes     why there are generated symbols
    meanings   generated symbols that count from an element of an input on, by name: each is max(0, the part)
    iterations  of the loops around the node, from the inside, as far as it is known how often they run
    is_always_reached  whenever the graph around it runs: False in a branch, or a loop that may not run
    """

    scope: Scope
    indices: Value
    trace: Trace | None
    causes: Mapping[str, Cause]
    meanings: Mapping[str, Part] = field(default_factory=dict)
    iterations: tuple[Sweep, ...] = ()
    is_always_reached: bool = True


@dataclass(frozen=True, slots=True)
class Access:
    """One axis that a node addresses by index, in the main graph, a subgraph or a function body.

    A GatherND has an access for each component of its index tuples, an operator with several index inputs one for each.

    input     the position of the input that holds the indices
    data      name of the input whose axis is addressed; `indices` of the one that holds the indices
    result    name of the first output
    addressing  the addressed axis and how; None where it is not known which one it is
    evidence  what the verdict on its bounds rests on; None when the node was reached in a later pass only
    """

    node: NodePath
    op_type: str
    domain: str
    version: int
    input: int
    data: str
    indices: str
    result: str
    addressing: Addressing | None
    data_type: Value
    indices_type: Value
    result_type: Value
    evidence: Evidence | None = field(compare=False, repr=False)

    @property
    def axis(self) -> int | None:
        """The position of the addressed axis, from the front; None where it is not known."""
        return None if self.addressing is None else self.addressing.axis

    @property
    def key(self) -> tuple[NodePath, int, int | None]:
        """What tells it from every other access of the model: the node, the index input and the component of tuples."""
        return self.node, self.input, None if self.addressing is None else self.addressing.column


@dataclass(frozen=True, slots=True)
class Belief:
    """A type that the file declares was taken where nothing could be inferred. Where it is wrong, facts are.

    value   its name
    graph   what the graph that it stands in is called, "" is the main graph
    node    the node that makes it
    type    what is believed
    """

    value: str
    graph: str
    node: NodePath
    type: Value

    def __str__(self) -> str:
        address = f"{self.graph}/{self.value}" if self.graph else self.value
        return f"{address} is {self.type} (node {self.node})"


@dataclass(frozen=True, slots=True)
class Coverage:
    """How many tensors there are, and of how many the element type, the rank and every dim is known.

    A dim counts as known when it is a number or an expression in the symbols of the inputs; a generated symbol counts
    as unknown.
    """

    tensors: int
    typed: int
    ranked: int
    exact: int


@dataclass(frozen=True, slots=True)
class TensorRow:
    """A value of a graph, what makes it, and why something of it is not known.

    scope     what its graph is called, "" is the main graph
    origin    `node`, `input`, `constant` or `body input`
    node      the node that makes it; None for what no node makes
    cause     why its element type, its rank or a dim is not known; empty where all are
    """

    scope: str
    name: str
    value: Value
    origin: str
    node: NodePath | None = None
    op_type: str = ""
    domain: str = ""
    cause: str = ""

    @property
    def title(self) -> str:
        """The name below that of its graph: `If_3/then_branch/y`."""
        return f"{self.scope}/{self.name}" if self.scope else self.name

    @property
    def operator(self) -> str:
        """`Reshape`, `com.microsoft.Gelu`; empty for what no node makes."""
        return qualified(self.domain, self.op_type) if self.op_type else ""

    @property
    def is_known(self) -> bool:
        """Whether the element type, the rank and every dim are."""
        return not self.cause

    def cells(self) -> dict[str, Cell]:
        """The row of a table: texts, numbers and truth values by column."""
        tensor = self.value if isinstance(self.value, SymbolicTensor) else SymbolicTensor()
        return {
            "name": self.title,
            "operator": self.operator or self.origin,
            "node": None if self.node is None else str(self.node),
            "type": str(self.value),
            "dtype": None if tensor.dtype is None else str(tensor.dtype),
            "rank": tensor.rank,
            "shape": None if tensor.shape is None else format_shape(tensor.shape),
            "known": self.is_known,
            "cause": self.cause,
        }


class Inference(Mapping[str, Value]):
    """The facts of a model: a mapping from the names of the main graph to their types.

    `scopes` has the values of every graph that was walked, a function body for each call, by its path; `labels` tells
    what these graphs are called; `scope(label)` finds one by that. Facts hold for every legal run, under the
    `assumptions` listed, as far as the file is right about what is `believed`. `declared` has what the caller says of
    the symbols of the inputs, and nothing else; `known` also what nodes imply that every run reaches: `demands` has
    that with the nodes, and what no single constraint can say. `assume` says whether the run was allowed to assume,
    `rules` are the rule sets that it was given. `iterations` has how often the body of each Loop and Scan runs,
    `conditions` which bodies not every run comes to, and when one does; `unreached` what would fail in those that none
    comes to. `implied` has the dims that are >= 0 because nodes that every run reaches imply it, or, for None, the
    inputs; `equated` the pairs of dims that such nodes demand to be equal; each with these nodes. `unchecked` has
    the clauses of nodes of which no facts tell whether they hold.

        >>> inference = gather_infer.infer("fixtures/bert-torchscript.onnx")
        >>> print(inference["last_hidden_state"])
        float32[batch, seq, 32]
        >>> print(inference.tensor("last_hidden_state").rank)
        3
        >>> print(inference.at(batch=1, seq=8)["last_hidden_state"])
        float32[1, 8, 32]
        >>> print(inference.cost().macs)
        128*batch*seq*seq + 14336*batch*seq + 1024*batch
    """

    def __init__(
        self,
        model: ModelFile,
        scopes: Mapping[GraphPath, Mapping[str, Value]],
        labels: Mapping[GraphPath, str],
        *,
        inputs: tuple[str, ...],
        outputs: tuple[str, ...],
        diagnostics: tuple[Diagnostic, ...],
        constraints: tuple[Constraint, ...],
        assumptions: tuple[Assumption, ...],
        causes: Mapping[str, Cause],
        accesses: tuple[Access, ...],
        believed: tuple[Belief, ...] = (),
        known: Scope | None = None,
        declared: Scope | None = None,
        given: Given | None = None,
        demands: tuple[Demand, ...] = (),
        assume: bool = True,
        rules: tuple[RuleSet, ...] = (),
        iterations: Mapping[GraphPath, Iterations] | None = None,
        implied: Mapping[Expr, frozenset[Source | None]] | None = None,
        equated: Mapping[tuple[Dim, Dim], frozenset[Source | None]] | None = None,
        conditions: Mapping[GraphPath, PathCondition] | None = None,
        unreached: tuple[Diagnostic, ...] = (),
        unchecked: tuple[Unchecked, ...] = (),
    ) -> None:
        self.model = model
        self.scopes = scopes
        self.labels = labels
        self.inputs = inputs
        self.outputs = outputs
        self.diagnostics = diagnostics
        self.constraints = constraints
        self.assumptions = assumptions
        self.causes = causes
        self.accesses = accesses
        self.believed = believed
        self.known = Scope() if known is None else known
        self.declared = Scope() if declared is None else declared
        self.given = given
        self.demands = demands
        self.assume = assume
        self.rules = rules
        self.iterations = {} if iterations is None else iterations
        self.implied = {} if implied is None else implied
        self.equated = {} if equated is None else equated
        self.conditions = {} if conditions is None else conditions
        self.unreached = unreached
        self.unchecked = unchecked

    def __getitem__(self, name: str) -> Value:
        """Raises UnknownName, which is a KeyError and suggests another name."""
        value = self.scopes[MAIN].get(name)
        if value is None:
            raise UnknownName("tensor", name, self._names())
        return value

    def __contains__(self, name: object) -> bool:
        return name in self.scopes[MAIN]

    def __iter__(self) -> Iterator[str]:
        return iter(self.scopes[MAIN])

    def __len__(self) -> int:
        return len(self.scopes[MAIN])

    def scope(self, label: str) -> Mapping[str, Value]:
        """The values of the graph that is called `label`.

        "" is the main graph, `If_3/then_branch` a subgraph, the label of a node the function that it calls. When
        several are called so it is the first. Raises UnknownName, a KeyError, when there is none.
        """
        for path, known in self.labels.items():
            if known == label:
                return self.scopes[path]
        raise UnknownName("graph", label, [known for known in self.labels.values() if known])

    def tensor(self, name: str) -> SymbolicTensor:
        """The facts of a tensor of the main graph, or below the path of another: `If_3/then_branch/y`.

        Raises UnknownName when there is none, UsageError when it is a sequence, an optional or the like.
        """
        value = self.scopes[MAIN].get(name)
        if value is None:
            value = next((found for found in self._below(name)), None)
        if value is None:
            raise UnknownName("tensor", name, self._names())
        if not isinstance(value, SymbolicTensor):
            raise UsageError(f"{name!r} is no tensor, it is {value}")
        return value

    def shape(self, name: str) -> Shape:
        """The dims of a tensor. Raises as `tensor`, and UsageError when not even the rank is known."""
        shape = self.tensor(name).shape
        if shape is None:
            raise UsageError(f"the rank of {name!r} is not known")
        return shape

    def _below(self, title: str) -> Iterator[Value]:
        """What is called so below the path of its graph."""
        for path, label in self.labels.items():
            name = title[len(label) + 1 :]
            if label and title.startswith(f"{label}/") and name in self.scopes[path]:
                yield self.scopes[path][name]

    def _names(self) -> list[str]:
        """Every value by name, below the path of its graph; outputs and inputs come first, people ask for these."""
        rest = (f"{self.labels[p]}/{n}" if self.labels[p] else n for p, values in self.scopes.items() for n in values)
        return list(dict.fromkeys((*self.outputs, *self.inputs, *rest)))

    def tensors(self, pattern: str = "", *, op: str | None = None, unknown: bool = False) -> tuple[TensorRow, ...]:
        """The values of all graphs, each with what makes it and why something of it is not known.

        pattern   a name, or a glob as `/encoder/*`, in which `*` stands for any text; empty for all
        op        only outputs of this operator: `Reshape`, `com.microsoft.Gelu`
        unknown   only those of which the element type, the rank or a dim is not known

        Raises UsageError when no tensor matches, or no node is of that operator.
        """
        rows: tuple[TensorRow, ...] = resolved("inference.rows:tensor_rows")(self, pattern, op, unknown)
        return rows

    def table(self, pattern: str = "", *, op: str | None = None, unknown: bool = False) -> list[dict[str, Cell]]:
        """`tensors` as rows of plain values, as `pandas.DataFrame` takes them."""
        return [row.cells() for row in self.tensors(pattern, op=op, unknown=unknown)]

    def at(self, sizes: Mapping[str, int] | None = None, /, **named: int) -> Inference:
        """The model at these sizes of its symbols: `inference.at(batch=1, seq=128)`, or a mapping for other names.

        It is inferred again, under all that this run was told. A symbol that is not named stays one; with all of them
        only what depends on data is no number. Raises UsageError for an unknown name, and for a size that is none or
        contradicts what is declared.
        """
        again: Inference = resolved("inference.sizes:at_sizes")(self, {**(sizes or {}), **named})
        return again

    def save(
        self, path: str | os.PathLike[str], *, external_data: str | None = None, in_place: bool = False
    ) -> SaveReport:
        """Write `annotated()`, whole or not at all; see `gather_infer.model.save`.

        Raises ModelReadError for a model that is no ONNX, and ModelWriteError.
        """
        from gather_infer.inference.annotate import annotated
        from gather_infer.model import save
        from gather_infer.model.given import to_onnx_file

        model = to_onnx_file(self.model)
        return save(model, annotated(model, self)[0], path, external_data=external_data, in_place=in_place)

    def __repr__(self) -> str:
        coverage, faults = self.coverage(), len(self.errors)
        errors = f", {faults} error{'s' * (faults != 1)}" if faults else ""
        return f"<Inference of {self.model.name}: {coverage.tensors} tensors, {coverage.exact} known{errors}>"

    def _repr_html_(self) -> str:
        return "\n".join(resolved("report.html:inference_html")(self))

    @property
    def recorded(self) -> tuple[Statement, ...]:
        """What the file records of its dims: it is taken for declared, as what the caller says."""
        return () if self.given is None else self.given.recorded

    @cached_property
    def errors(self) -> tuple[Diagnostic, ...]:
        """What is wrong with the model: the errors among the `diagnostics`, and accesses that always are out of bounds.

        What fails in a branch, or in a loop that may not run, is a warning: a run that does not come to it is legal.
        With one of these `infer` exits with 1. Accesses are judged when somebody asks, of what has been found alone.
        """
        found = tuple(d for d in self.diagnostics if d.severity is Severity.ERROR)
        if not self.accesses:
            return found
        return *found, *resolved("validate:violations")(self)

    def is_generated(self, dim: Dim) -> bool:
        """True when the dim contains a symbol that the run made up because it could not know better."""
        return not isinstance(dim, int) and not self.causes.keys().isdisjoint(dim.symbols)

    def coverage(self) -> Coverage:
        """Counts over every tensor of every scope; sequences and the like count as tensors of known type."""
        tensors = typed = ranked = exact = 0
        for values in self.scopes.values():
            for value in values.values():
                tensors += 1
                if not isinstance(value, SymbolicTensor):
                    typed, ranked, exact = typed + 1, ranked + 1, exact + 1
                    continue
                typed += value.dtype is not None
                if value.shape is not None:
                    ranked += 1
                    exact += not any(self.is_generated(d) for d in value.shape)
        return Coverage(tensors, typed, ranked, exact)

    def cost(self) -> Cost:
        """What one run of the model costs, in its own symbols: multiply-adds, bytes, the peak of live activations.

        `cost().at(batch=1, seq=128)` has it in numbers. What is not known is among its `gaps`, with the node.
        """
        from gather_infer.cost import cost_of

        return cost_of(self)

    def annotated(self, *, weights: bool = False) -> onnx.ModelProto:
        """The model with `value_info` filled in for every value whose type is known, subgraphs included.

        What the caller gave of the inputs is declared in it: numbers and names in the types of inputs and outputs,
        bounds and relations in the metadata.

        A model opened from a path comes back with its large weights still on disk (legal external tensors that point
        into the source file); `weights=True` loads them. A ModelProto in gives full weights out. The input stays as it
        is.
        """
        from gather_infer.inference.annotate import annotated

        return annotated(self.model, self, weights=weights)[0]
