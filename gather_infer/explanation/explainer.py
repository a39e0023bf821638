"""`gather_infer.explain`: the provenance chain of a tensor, with suggestions for its unknown parts."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Final

from gather_infer.diagnostic import Diagnostic
from gather_infer.errors import UnknownName, UsageError
from gather_infer.explanation.chain import Explanation, SymbolExplanation, Unknown
from gather_infer.explanation.search import Search, names_in
from gather_infer.explanation.suggestions import Suggestions
from gather_infer.explanation.symbols import explained_symbol, known_symbols
from gather_infer.explanation.what_if import Bounds, WhatIf
from gather_infer.inference.inference_driver import infer
from gather_infer.inference.inferred_graphs import InferredGraph, InferredGraphs
from gather_infer.inference.result import Inference
from gather_infer.inference.tensor_table import is_glob, unknown_rank_cause
from gather_infer.model.model_loading import ModelLike, to_model_file, with_constants
from gather_infer.model.paths import joined_label
from gather_infer.node_ids import MAIN, NodePath
from gather_infer.provenance.axes import axis_provenance_of
from gather_infer.provenance.result import AxisProvenance, Independence
from gather_infer.provenance.row_verdicts import default_axes, independence_of
from gather_infer.rules import RuleSet
from gather_infer.symbolic import Interval, free_symbols
from gather_infer.trail import Constraint

DEPTH: Final = 8
"""Default of the maximum nesting of steps."""

_BOUNDS = re.compile(r"\s*(\d*)\s*\.\.\s*(\d*)\s*")
_FROM_ZERO = re.compile(r"[^=]*=\s*0*\.\..*")


def explain(
    model: ModelLike,
    tensor: str,
    *,
    dims: Iterable[str] = (),
    inputs: Mapping[str, str] | Iterable[str] = (),
    rules: Sequence[RuleSet] = (),
    assume: bool = True,
    initializers_as_constants: bool = False,
    depth: int = DEPTH,
    every: bool = False,
) -> Explanation:
    """Explain why a tensor has its shape and values.

    model, dims, inputs, rules, assume, initializers_as_constants   as for `infer`
    tensor   name of the tensor; in a subgraph or function call, after the label of that graph: `If_3/then_branch/y`
    depth    maximum nesting of steps
    every    include nodes that only forward dims

    Raises UsageError if the model has no such tensor, and the exceptions of `infer`.

        >>> model = "fixtures/gpt2-kv-torchscript.onnx"
        >>> explanation = gather_infer.explain(model, "/gpt2/transformer/Concat_output_0")
        >>> print(explanation)
        /gpt2/transformer/Concat_output_0   int64[2] = [-1, seq]
          Concat    /gpt2/transformer/Concat   [-1] + [seq]
            Unsqueeze /gpt2/transformer/Unsqueeze   data int64[] = seq, axes int64[1] = [0]
              Gather    /gpt2/transformer/Gather   Shape(input_ids)[1] = seq
    """
    explainer = Explainer(
        model,
        dims=dims,
        inputs=inputs,
        rules=rules,
        assume=assume,
        initializers_as_constants=initializers_as_constants,
    )
    return explainer.tensor(tensor, depth=depth, every=every)


class Explainer:
    """Explains tensors and symbols of a model; the constructor infers the model once.

    model, dims, inputs, rules, assume, initializers_as_constants   as for `infer`

    `inference` is the result of the run. The constructor raises the exceptions of `infer`.
    """

    def __init__(
        self,
        model: ModelLike,
        *,
        dims: Iterable[str] = (),
        inputs: Mapping[str, str] | Iterable[str] = (),
        rules: Sequence[RuleSet] = (),
        assume: bool = True,
        initializers_as_constants: bool = False,
    ) -> None:
        file = to_model_file(model)
        self._file = with_constants(file) if initializers_as_constants else file
        self._dims = list(dims)
        self._inputs = dict(inputs) if isinstance(inputs, Mapping) else list(inputs)
        self._rules = rules
        self.inference = infer(self._file, dims=self._dims, inputs=self._inputs, rules=rules, assume=assume)
        self._bodies = InferredGraphs(self.inference)
        self._is_strict = not assume or any(map(_FROM_ZERO.fullmatch, self._dims))
        self._runs: dict[tuple[tuple[str, Interval], ...], Inference | None] = {}
        self._constant_run: Inference | None = None

    def tensor(self, name: str, *, depth: int = DEPTH, every: bool = False) -> Explanation:
        """Explain why a tensor has its shape and values, as `explain` does."""
        body, known = _resolve(self.inference, self._bodies, name)
        return self._explained(body, known, depth, every)

    def tensors(
        self,
        pattern: str = "",
        *,
        op: str | None = None,
        unknown: bool = False,
        depth: int = DEPTH,
        every: bool = False,
    ) -> Iterator[Explanation]:
        """Explain, lazily, each tensor that `Inference.tensors` returns for the same arguments.

        Raises UsageError in the same cases.
        """
        for row in self.inference.tensors(pattern, op=op, unknown=unknown):
            yield self.tensor(row.title, depth=depth, every=every)

    def symbol(self, name: str) -> SymbolExplanation:
        """Explain the origin, bounds and uses of the symbol `name`. Raises UnknownName if there is no such symbol."""
        return explained_symbol(self.inference, name, self._suggestions_for)

    def named(
        self, name: str, *, depth: int = DEPTH, every: bool = False
    ) -> tuple[Explanation | SymbolExplanation, ...]:
        """Explain the tensor or symbol called `name`, or both if both exist; else the outputs of the node `name`.

        Raises UsageError if nothing has the name.
        """
        symbols = known_symbols(self.inference)
        symbol = (self.symbol(name),) if name in symbols else ()
        if symbol and next(_candidates(self.inference, self._bodies, name), None) is None:
            return symbol
        place = None if next(_candidates(self.inference, self._bodies, name), None) else self._bodies.find_node(name)
        if place is not None and not symbol:  # the name of a node: explain its outputs
            outputs = [output for output in place.node.output if output in place.graph.values]
            if outputs:
                return tuple(self._explained(place.graph, output, depth, every) for output in outputs)
        body, known = _resolve(self.inference, self._bodies, name, symbols)
        return self._explained(body, known, depth, every), *symbol

    def is_glob(self, text: str) -> bool:
        """Whether `text` is a glob: it has wildcards, and no tensor or symbol has `text` as its name."""
        is_name = text in known_symbols(self.inference) or any(
            True for _ in _candidates(self.inference, self._bodies, text)
        )
        return is_glob(text) and not is_name

    def _explained(self, body: InferredGraph, name: str, depth: int, every: bool) -> Explanation:
        inference = self.inference
        value = body.values[name]
        search = Search(inference, self._bodies, depth=depth, every=every)
        step = search.chain(body, name)
        unknown = _generated(inference, names_in(value))
        suggestions = self._suggestions(body, name, bool(unknown))
        unknown_at = suggestions.first_unknown(body, name)
        concerned = names_in(value) | {o for s in unknown for o in inference.causes[s].operands}
        visited = {place.path for place in search.visited}
        is_incomplete = bool(unknown) or unknown_at is not None
        suggested: tuple[str, ...] = ()
        failed = (d.location.node for d in inference.diagnostics if d.is_failure)
        if unknown_at is not None and unknown_at.path in failed:
            unknown_at = None  # the finding gives the reason, and no other bounds would help
        else:
            suggested = suggestions.of_type(body, name, unknown_at)
        return Explanation(
            scope=body.label,
            name=name,
            value=value,
            step=step,
            unknowns=tuple(Unknown(s, inference.causes[s], suggestions.of(s)) for s in unknown),
            suggestions=suggested,
            unknown_because=None if unknown_at is None else unknown_rank_cause(unknown_at),
            assumptions=tuple(a for a in inference.assumptions if free_symbols(a.dim) & concerned),
            constraints=tuple(c for c in inference.constraints if _concerns(c, concerned, inference)),
            findings=tuple(d for d in inference.diagnostics if _is_about(d, visited, is_incomplete)),
            trusted_annotations=tuple(b for b in inference.trusted_annotations if b.node in visited),
            model=self._file.name,
            axes=self._axes.get(name, ()) if not body.path.steps else (),
            independence=self._independence if not body.path.steps and name in inference.outputs else None,
        )

    @cached_property
    def _axes(self) -> AxisProvenance:
        return axis_provenance_of(self.inference)

    @cached_property
    def _independence(self) -> Independence | None:
        """The verdict on the rows of the first dynamic axis 0; None if there is none."""
        axes = default_axes(self.inference)
        return independence_of(self.inference, axes) if axes else None

    def _suggestions(self, body: InferredGraph, name: str, is_unknown: bool) -> Suggestions:
        """A `Suggestions` object for tensor `name` of `body`.

        is_unknown   generated symbols occur in the tensor
        """
        relaxed = self._assuming_run() if self._is_strict and is_unknown else None
        what_if = WhatIf(self.inference, self._infer_with_bounds)
        assume = self.inference.assume
        return Suggestions(
            self.inference, self._bodies, (body, name), what_if, relaxed, self._constant_initializer_run, assume
        )

    def _suggestions_for(self, symbol: str) -> tuple[str, ...]:
        """Suggestions that would make a generated symbol known in the first tensor that contains it."""
        for path, values in self.inference.scopes.items():
            body = self._bodies.at(path)
            for name, value in values.items():
                if body is not None and symbol in names_in(value):
                    return self._suggestions(body, name, True).of(symbol)
        return ()

    def _constant_initializer_run(self) -> Inference:
        """The run that treats initializers as constants, computed once."""
        if self._constant_run is None:
            file, assume = with_constants(self._file), self.inference.assume
            self._constant_run = infer(file, dims=self._dims, inputs=self._inputs, rules=self._rules, assume=assume)
        return self._constant_run

    def _assuming_run(self) -> Inference:
        """The run with assumptions allowed, and without the caller's bounds of dims that start at 0."""
        kept = [spec for spec in self._dims if not _FROM_ZERO.fullmatch(spec)]
        return infer(self._file, dims=kept, inputs=self._inputs, rules=self._rules)

    def _infer_with_bounds(self, bounds: Bounds) -> Inference | None:
        """The run with additional bounds, memoized; None if the bounds contradict the constraints of the caller."""
        key = tuple(sorted(bounds.items(), key=lambda entry: entry[0]))
        if key not in self._runs:
            assume = self.inference.assume
            try:
                found = infer(
                    self._file, dims=_bounded(self._dims, bounds), inputs=self._inputs, rules=self._rules, assume=assume
                )
            except UsageError:
                self._runs[key] = None
            else:
                self._runs[key] = found
        return self._runs[key]


def _is_about(finding: Diagnostic, visited: Collection[NodePath], is_incomplete: bool) -> bool:
    """Whether a finding concerns the chain: its node is in `visited`, and its code is not GI203.

    A finding of missing external data (GI112) also concerns the chain if the tensor is partly unknown, `is_incomplete`.
    """
    if finding.code == "GI112":
        return is_incomplete or finding.location.node in visited
    return finding.location.node in visited and finding.code != "GI203"


def _bounded(specs: list[str], bounds: Bounds) -> list[str]:
    """The caller's dim constraints `specs`, as `seq=1..64`, intersected with `bounds`.

    A spec stays as it is if it has another form or contradicts its bounds.
    """
    kept: list[str] = []
    added = dict(bounds)
    for spec in specs:
        name, _, text = spec.partition("=")
        wanted = added.pop(name.strip(), None)
        bounds_given = _BOUNDS.fullmatch(text)
        if wanted is not None and bounds_given is not None:
            both = wanted & Interval(int(bounds_given[1] or 0), int(bounds_given[2]) if bounds_given[2] else None)
            spec = spec if both.is_empty else _spec(name, both)
        kept.append(spec)
    return kept + [_spec(name, interval) for name, interval in added.items()]


def _spec(name: str, bounds: Interval) -> str:
    return f"{name}={bounds.lo}..{'' if bounds.hi is None else bounds.hi}"


def _candidates(inference: Inference, bodies: InferredGraphs, tensor: str) -> Iterator[tuple[InferredGraph, str]]:
    """Yield each graph and name that `tensor` may denote, as `name` or as `label/name`; the main graph comes first."""
    if tensor in inference.scopes[MAIN]:
        yield bodies.main, tensor
    for path, values in inference.scopes.items():
        label = inference.labels[path]
        name = tensor[len(label) + 1 :]
        if label and tensor.startswith(f"{label}/") and name in values and (body := bodies.at(path)) is not None:
            yield body, name


def _resolve(
    inference: Inference, bodies: InferredGraphs, tensor: str, symbols: Iterable[str] = ()
) -> tuple[InferredGraph, str]:
    """The graph and name that `tensor`, given as `name` or `label/name`, denotes.

    Raises UsageError if it denotes none; the message may suggest another tensor or one of `symbols`.
    """
    found = next(_candidates(inference, bodies, tensor), None)
    if found is not None:
        return found
    place = bodies.find_node(tensor)
    if place is not None and any(place.node.output):
        made = " and ".join(repr(joined_label(place.graph.label, n)) for n in place.node.output if n)
        raise UsageError(f"no tensor {tensor!r}; the node of that name produces {made}")
    known = [joined_label(inference.labels[path], name) for path, values in inference.scopes.items() for name in values]
    # Outputs first: they are the most likely suggestions.
    ordered = dict.fromkeys((*inference.outputs, *inference.inputs, *symbols, *known))
    raise UnknownName("tensor or symbol" if symbols else "tensor", tensor, ordered)


def _concerns(constraint: Constraint, names: set[str], inference: Inference) -> bool:
    """Whether a constraint contains one of the symbols `names`, and no generated symbol outside `names`."""
    symbols = free_symbols(constraint.left) | free_symbols(constraint.right)
    return bool(symbols & names) and not (symbols - names) & inference.causes.keys()


def _generated(inference: Inference, names: set[str]) -> list[str]:
    """The generated symbols among `names`, in order of creation."""
    return [name for name in inference.causes if name in names]
