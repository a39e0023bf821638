"""Results of an inference."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from gather_infer.diagnostic import Diagnostic, Severity
from gather_infer.domains import qualified
from gather_infer.errors import UnknownName, UsageError
from gather_infer.lazy import resolve
from gather_infer.node_ids import MAIN, GraphPath, NodeId, NodePath
from gather_infer.symbolic import Dim, Expr, Scope
from gather_infer.tensor import Shape, SymbolicTensor, Value, format_shape
from gather_infer.trail import Assumption, Cause, Constraint, ImpliedConstraint, Iterations, PathCondition, Unchecked

if TYPE_CHECKING:
    import os

    import onnx

    from gather_infer.access import Addressing
    from gather_infer.cost import Cost
    from gather_infer.inference.constraints.given import InputConstraints
    from gather_infer.inference.constraints.persisted import DimConstraint
    from gather_infer.inference.provenance.origin import Origin, Provenance
    from gather_infer.ir import Model
    from gather_infer.model import ModelFile, SaveReport
    from gather_infer.rules import RuleSet

Cell: TypeAlias = "str | int | bool | None"
"""A cell of a table row."""


class IterationRange(NamedTuple):
    """The iterations of a loop in which a node is reached: a range of iteration numbers from 0 to below `end`.

    symbol  name of the generated symbol for the iteration number
    is_all  every number in the range is known to occur
    """

    symbol: str
    end: Dim
    is_all: bool


@dataclass(frozen=True, slots=True, eq=False)
class FactsBeforeAccess:
    """Facts known before an access, without those that its node or later nodes imply.

    Bounds checks use only these facts. Under the facts that the node itself implies, every access would be in bounds.

    scope              declared facts, and facts that earlier nodes imply
    indices            fact of the index tensor
    provenance         origins of the elements of the index tensor; None when unknown
    causes             causes of generated symbols, by name
    symbol_origins     for a generated symbol max(0, e), where e derives from an element of an input: origin of e
    iterations         iterations of the loops around the node with a known trip count, innermost first
    is_always_reached  whether all runs and all `iterations` reach the node: False in a branch, or in a loop whose trip
                       count is unknown
    """

    scope: Scope
    indices: Value
    provenance: Provenance | None
    causes: Mapping[str, Cause]
    symbol_origins: Mapping[str, Origin] = field(default_factory=dict)
    iterations: tuple[IterationRange, ...] = ()
    is_always_reached: bool = True


@dataclass(frozen=True, slots=True)
class Access:
    """One axis that a node addresses by index, in the main graph, a subgraph or a function body.

    A GatherND has an access for each component of its index tuples, an operator with several index inputs one for each.

    input         position of the input that holds the indices
    data          name of the input whose axis is addressed
    indices       name of the input that holds the indices
    result        name of the first output
    addressing    the addressed axis and the index semantics; None when the axis is unknown
    facts_before  facts for the bounds check; None when only a later iteration of the inference reached the node
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
    facts_before: FactsBeforeAccess | None = field(compare=False, repr=False)

    @property
    def axis(self) -> int | None:
        """Position of the addressed axis, counted from the front; None where it is unknown."""
        return None if self.addressing is None else self.addressing.axis

    @property
    def key(self) -> tuple[NodePath, int, int | None]:
        """Identity among the accesses of the model: the node, the index input and the component of index tuples."""
        return self.node, self.input, None if self.addressing is None else self.addressing.column


class TrustedAnnotation(NamedTuple):
    """A declared type that was trusted because none could be inferred; if it is wrong, facts that depend on it are too.

    value   name of the value
    graph   label of the graph of the value, "" for the main graph
    node    the node that produces the value
    type    the trusted type
    """

    value: str
    graph: str
    node: NodePath
    type: Value

    def __str__(self) -> str:
        address = f"{self.graph}/{self.value}" if self.graph else self.value
        return f"{address} is {self.type} (node {self.node})"


class Coverage(NamedTuple):
    """Counts of values: `tensors` is their number, the other fields count values of which more is known.

    typed    values with a known element type
    ranked   values with a known rank
    exact    values whose dims are all numbers or expressions in the symbols of the inputs, without generated symbols
    """

    tensors: int
    typed: int
    ranked: int
    exact: int


@dataclass(frozen=True, slots=True)
class TensorRow:
    """A value of a graph, its producer, and the reason for anything unknown.

    scope     label of the graph, "" for the main graph
    value     the inferred fact
    origin    `node`, `input`, `constant` or `body input`
    node      the node that produces the value; None for other origins
    cause     why the element type, the rank or a dim is unknown; empty when all are known
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
        """The name, after the label of its graph: `If_3/then_branch/y`."""
        return f"{self.scope}/{self.name}" if self.scope else self.name

    @property
    def operator(self) -> str:
        """`Reshape`, `com.microsoft.Gelu`; empty for values that no node produces."""
        return qualified(self.domain, self.op_type) if self.op_type else ""

    @property
    def is_known(self) -> bool:
        """Whether the element type, the rank and every dim are known."""
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

    Facts hold for every valid run that satisfies the listed `assumptions`, provided that the `trusted_annotations` of
    the file are right.

    scopes               facts of every interpreted graph, by path and name; a function body occurs once per call
    labels               labels of the interpreted graphs, by path; `scope(label)` finds a graph by its label
    declared             constraints on the symbols of the inputs, given by the caller or recorded in the file
    known                the declared constraints, and all facts implied by nodes that every run reaches
    implied_constraints  relations, or disjunctions of relations, that nodes imply, each with its first node
    implied_facts        dims that are >= 0 in every valid run, each with the nodes that imply this; None in place of a
                         node means the types of the inputs
    equated              pairs of dims that nodes require to be equal, each with those nodes
    unchecked            clauses of nodes that the facts do not decide
    iterations           trip counts of the bodies of Loop and Scan, by path
    conditions           conditions of bodies that some runs skip, by path
    unreachable          errors in bodies that no run reaches
    assume               whether assumptions were allowed
    rules                rule sets of the caller

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
        trusted_annotations: tuple[TrustedAnnotation, ...] = (),
        known: Scope | None = None,
        declared: Scope | None = None,
        input_constraints: InputConstraints | None = None,
        implied_constraints: tuple[ImpliedConstraint, ...] = (),
        assume: bool = True,
        rules: tuple[RuleSet, ...] = (),
        iterations: Mapping[GraphPath, Iterations] | None = None,
        implied_facts: Mapping[Expr, frozenset[NodeId | None]] | None = None,
        equated: Mapping[tuple[Dim, Dim], frozenset[NodeId | None]] | None = None,
        conditions: Mapping[GraphPath, PathCondition] | None = None,
        unreachable: tuple[Diagnostic, ...] = (),
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
        self.trusted_annotations = trusted_annotations
        self.known = Scope() if known is None else known
        self.declared = Scope() if declared is None else declared
        self.input_constraints = input_constraints
        self.implied_constraints = implied_constraints
        self.assume = assume
        self.rules = rules
        self.iterations = {} if iterations is None else iterations
        self.implied_facts = {} if implied_facts is None else implied_facts
        self.equated = {} if equated is None else equated
        self.conditions = {} if conditions is None else conditions
        self.unreachable = unreachable
        self.unchecked = unchecked

    def __getitem__(self, name: str) -> Value:
        """The fact of a value of the main graph; raises UnknownName, a KeyError with a suggestion, for other names."""
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
        """The facts of the graph labelled `label`, by name.

        "" is the main graph, `If_3/then_branch` a subgraph, the label of a node the function that it calls. The first
        of several graphs with the same label is returned. Raises UnknownName, a KeyError, for an unknown label.
        """
        for path, known in self.labels.items():
            if known == label:
                return self.scopes[path]
        raise UnknownName("graph", label, [known for known in self.labels.values() if known])

    def tensor(self, name: str) -> SymbolicTensor:
        """The facts of a tensor of the main graph, or of another graph by its path: `If_3/then_branch/y`.

        Raises UnknownName for an unknown name, UsageError when the value is a sequence, an optional, a map or sparse.
        """
        value = self.scopes[MAIN].get(name)
        if value is None:
            value = next((found for found in self._below(name)), None)
        if value is None:
            raise UnknownName("tensor", name, self._names())
        if not isinstance(value, SymbolicTensor):
            raise UsageError(f"{name!r} is not a tensor, it is {value}")
        return value

    def shape(self, name: str) -> Shape:
        """The dims of a tensor. Raises as `tensor`, and UsageError when its rank is unknown."""
        shape = self.tensor(name).shape
        if shape is None:
            raise UsageError(f"the rank of {name!r} is not known")
        return shape

    def _below(self, title: str) -> Iterator[Value]:
        """The values outside the main graph whose graph label and name, joined by `/`, are `title`."""
        for path, label in self.labels.items():
            name = title[len(label) + 1 :]
            if label and title.startswith(f"{label}/") and name in self.scopes[path]:
                yield self.scopes[path][name]

    def _names(self) -> list[str]:
        """The names of all values, each after the label of its graph; outputs and inputs come first for suggestions."""
        rest = (f"{self.labels[p]}/{n}" if self.labels[p] else n for p, values in self.scopes.items() for n in values)
        return list(dict.fromkeys((*self.outputs, *self.inputs, *rest)))

    def tensors(self, pattern: str = "", *, op: str | None = None, unknown: bool = False) -> tuple[TensorRow, ...]:
        """The values of all graphs, each with its producer and the reason for anything unknown.

        pattern   a name, or a glob such as `/encoder/*`, in which `*` matches any text; empty for all
        op        only outputs of this operator: `Reshape`, `com.microsoft.Gelu`
        unknown   only values whose element type, rank or a dim is unknown

        Raises UsageError when no tensor matches, or the model has no such operator.
        """
        rows: tuple[TensorRow, ...] = resolve("inference.tensor_table:tensor_rows")(self, pattern, op, unknown)
        return rows

    def table(self, pattern: str = "", *, op: str | None = None, unknown: bool = False) -> list[dict[str, Cell]]:
        """`tensors` as rows of plain values, for example for `pandas.DataFrame`."""
        return [row.cells() for row in self.tensors(pattern, op=op, unknown=unknown)]

    def at(self, sizes: Mapping[str, int] | None = None, /, **named: int) -> Inference:
        """Specialize the model to sizes of its symbols: `inference.at(batch=1, seq=128)`, or a mapping for other names.

        The model is inferred again under the same constraints. Other symbols stay; when all have sizes, only
        data-dependent dims remain symbolic. Raises UsageError for an unknown name, and for a size that is invalid or
        contradicts a declaration.
        """
        again: Inference = resolve("inference.specialization:specialize")(self, {**(sizes or {}), **named})
        return again

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        external_data: str | None = None,
        in_place: bool = False,
        dim_dialect: str | None = None,
    ) -> SaveReport:
        """Write `annotated()` atomically; see `gather_infer.model.save`.

        dim_dialect   write the expressions in dims as readers of this dialect take them, see docs/dims.md

        Raises ModelReadError when the model is not in ONNX format, ModelWriteError when the file cannot be written.
        """
        from gather_infer.inference.annotate import annotated
        from gather_infer.inference.dim_dialects import save_translated
        from gather_infer.model.model_loading import to_onnx_file

        model = to_onnx_file(self.model)
        proto = annotated(model, self)[0]
        return save_translated(
            model,
            proto,
            path,
            dim_dialect=dim_dialect,
            generated=self.causes,
            external_data=external_data,
            in_place=in_place,
        )

    def __repr__(self) -> str:
        coverage, faults = self.coverage(), len(self.errors)
        errors = f", {faults} error{'s' * (faults != 1)}" if faults else ""
        return f"<Inference of {self.model.name}: {coverage.tensors} tensors, {coverage.exact} known{errors}>"

    def _repr_html_(self) -> str:
        return "\n".join(resolve("report.html:inference_html")(self))

    @property
    def persisted_constraints(self) -> tuple[DimConstraint, ...]:
        """The dim constraints recorded in the file; they count as declared, like those of the caller."""
        return () if self.input_constraints is None else self.input_constraints.persisted

    @cached_property
    def ir(self) -> Model:
        """The graphs of the model file with their def-use chains, built on first use; shared, so never edited."""
        from gather_infer.ir import Model

        return Model.of(self.model)

    def release_ir(self) -> None:
        """Free the memory of `ir`, and of all that refers to it; the next use builds it again."""
        held = self.__dict__.pop("ir", None)
        if held is not None:
            held.release()

    def __getstate__(self) -> dict[str, object]:
        """The state to pickle or copy, without `ir`: it would hold the messages of the file again."""
        return {name: value for name, value in vars(self).items() if name != "ir"}

    @cached_property
    def errors(self) -> tuple[Diagnostic, ...]:
        """The errors of the model: the errors in `diagnostics`, and accesses that are always out of bounds.

        A failure in a branch, or in a loop that may not run, is a warning: runs that skip it are valid. If there are
        errors, `gather-infer infer` exits with 1. Accesses are checked when the property is first read.
        """
        found = tuple(d for d in self.diagnostics if d.severity is Severity.ERROR)
        if not self.accesses:
            return found
        return *found, *resolve("validate:bounds_violations")(self)

    def is_generated(self, dim: Dim) -> bool:
        """True when the dim contains a generated symbol, that is, an unknown size."""
        return not isinstance(dim, int) and not self.causes.keys().isdisjoint(dim.symbols)

    def coverage(self) -> Coverage:
        """Counts over every value of every graph; sequences, optionals and maps count as known in all respects."""
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
        """The cost of one run in the symbols of the model: multiply-adds, bytes, the peak of live activations.

        `cost().at(batch=1, seq=128)` gives numbers. Unknown contributions are listed with their nodes.
        """
        from gather_infer.cost import cost_of

        return cost_of(self)

    def annotated(self, *, weights: bool = False) -> onnx.ModelProto:
        """The model with `value_info` filled in for every value of known type, subgraphs included.

        The model also declares the constraints given by the caller: numbers and names in the types of inputs and
        outputs, bounds and relations in the metadata.

        A model opened from a path comes back with its large weights still on disk (legal external tensors that point
        into the source file); `weights=True` loads them. A ModelProto keeps its full weights. The input is not changed.
        """
        from gather_infer.inference.annotate import annotated

        return annotated(self.model, self, weights=weights)[0]
