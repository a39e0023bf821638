"""`fold` and `optimize`: a model smaller and faster that computes the same."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from gather_infer.diagnostic import Severity
from gather_infer.errors import UsageError
from gather_infer.inference import Inference, infer
from gather_infer.inference.interface import declare
from gather_infer.inference.options import suggestion
from gather_infer.model.apply import apply
from gather_infer.model.edits import Journal
from gather_infer.model.given import GivenModel, as_given, to_model_file
from gather_infer.passes.draft import Draft
from gather_infer.passes.engine import Done, Engine
from gather_infer.passes.result import PassResult
from gather_infer.passes.rewrites import ALL, FOLDING
from gather_infer.passes.subject import Subject
from gather_infer.passes.table import RewriteSet, Table
from gather_infer.places import GraphPath
from gather_infer.rules import RuleSet

DEFAULT_MAX_GROWTH = 1 << 20
"""Bytes by which a rewrite may let the constants grow: enough for positions and masks, too little for an embedding."""


MAX_ROUNDS = 4
"""How often a model that was rewritten is inferred again: of a simpler one more may be known."""


@dataclass(frozen=True, slots=True)
class Round:
    """What was known of a model, and what was done to it."""

    inference: Inference
    journal: Journal


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class OptimizeResult(PassResult):
    """A model after `fold` or `optimize`; `done` are the rewrites in the order in which they were made.

    inference   of the model that was given
    rounds      until nothing was left to do, each with the inference on which it rests
    """

    done: tuple[Done, ...]
    inference: Inference
    rounds: tuple[Round, ...]

    @property
    def edits(self) -> list[str]:
        return [line for each in self.rounds for line in each.journal.describe(each.inference.model.proto)]


def fold(
    model: GivenModel,
    *,
    max_growth: int = DEFAULT_MAX_GROWTH,
    passes: Collection[str] = (),
    skip: Collection[str] = (),
    dims: Mapping[str, object] | Iterable[str] = (),
    inputs: Mapping[str, str] | Iterable[str] = (),
    rules: Sequence[RuleSet] = (),
) -> OptimizeResult:
    """Nodes whose results are the same in every run, replaced by constants; `gather_infer.fold`.

    A result is known when all inputs are constant (an initializer that is also an input is not), or when the
    inference knows all elements as numbers: `Gather(Shape(x), 1)` of a static dim. Nothing is folded that rests on
    an assumption. Results are bit for bit those of the node. What only fed folded nodes goes as well; everything
    else stays.

    model       a path, a ModelProto, a ModelFile or an onnx_graphsurgeon Graph; never changed
    max_growth  bytes by which one node may let the constants grow; one that needs more is left alone and reported
    passes      names of the rules that are asked, all when empty; `skip` those that are not
    dims, inputs, rules   as for `infer`; the result is right for such inputs only, and declares them

    Raises ModelReadError when the model or its external data cannot be read, ModelStructureError when it cannot be
    rewritten safely (a cycle, a name defined twice), UsageError for a negative `max_growth`, a rule that there is
    not, and as `infer`.
    """
    return _run(model, FOLDING, "fold", passes, skip, max_growth, dims, inputs, rules)


def optimize(
    model: GivenModel,
    *,
    max_growth: int = DEFAULT_MAX_GROWTH,
    passes: Collection[str] = (),
    skip: Collection[str] = (),
    rewrites: Sequence[RewriteSet] = (),
    dims: Mapping[str, object] | Iterable[str] = (),
    inputs: Mapping[str, str] | Iterable[str] = (),
    rules: Sequence[RuleSet] = (),
) -> OptimizeResult:
    """The model with every rewrite that makes it smaller or faster and computes the same; `gather_infer.optimize`.

    Outputs are bit for bit those of the model, in every run in which it does not fail; inputs, outputs, their names,
    order and symbolic dims stay. A rewrite never adds nodes, nor bytes that a run reads and writes.

    model       a path, a ModelProto, a ModelFile or an onnx_graphsurgeon Graph; never changed
    rewrites    sets of the caller, asked before the package's own
    max_growth, passes, skip   as for `fold`
    dims, inputs, rules   as for `infer`; the result is right for such inputs only, and declares them

    Raises as `fold`.
    """
    return _run(model, (*rewrites, *ALL), "optimize", passes, skip, max_growth, dims, inputs, rules)


def rule_names(sets: Iterable[RewriteSet] = ALL) -> list[str]:
    """The names of the rules of some sets, those of `optimize` unless given, in the order in which they are listed."""
    return list(dict.fromkeys(listed.name for each in sets for listed in each.listed()))


def _wanted(sets: Sequence[RewriteSet], passes: Collection[str], skip: Collection[str]) -> Callable[[str], bool]:
    """Which rules are asked, by name. Raises UsageError for one that there is not."""
    names = rule_names(sets)
    for name in (*passes, *skip):
        if name not in names:
            raise UsageError(f"there is no rewrite {name!r}{suggestion(name, sorted(names))}")
    return lambda name: (not passes or name in passes) and name not in skip


def _run(
    model: GivenModel,
    sets: Sequence[RewriteSet],
    by: str,
    passes: Collection[str],
    skip: Collection[str],
    max_growth: int,
    dims: Mapping[str, object] | Iterable[str],
    inputs: Mapping[str, str] | Iterable[str],
    rules: Sequence[RuleSet],
) -> OptimizeResult:
    if max_growth < 0:
        raise UsageError(f"max_growth must be >= 0, is {max_growth}")
    table = Table(sets, _wanted(sets, passes, skip))
    source = to_model_file(model)
    rounds: list[Round] = []
    done: list[Done] = []
    subject = source
    while True:
        inference = infer(subject, dims=dims, inputs=inputs, rules=rules, assume=False)
        engine = Engine(Draft(Subject(inference)), table, max_growth, by == "optimize", _faulty(inference))
        engine.run()
        rounds.append(Round(inference, engine.draft.journal(by)))
        done += engine.done
        if not engine.done or len(rounds) == MAX_ROUNDS:
            break
        subject = replace(subject, proto=apply(rounds[-1].journal, subject.proto))
    declared, interface = declare(subject.proto, inference, rests=any(len(each.journal) for each in rounds))
    proto = apply(rounds[-1].journal, declared)
    return OptimizeResult(
        model=as_given(model, proto),
        done=tuple(done),
        inference=rounds[0].inference,
        diagnostics=(*rounds[0].inference.diagnostics, *engine.left),
        journal=rounds[0].journal,
        rounds=tuple(rounds),
        source=source,
        proto=proto,
        interface=interface,
    )


def _faulty(inference: Inference) -> frozenset[tuple[GraphPath, int]]:
    """The nodes at which the inference has found an error."""
    return frozenset(
        (d.location.node.graph, d.location.node.position)
        for d in inference.diagnostics
        if d.severity is Severity.ERROR and d.location.node is not None
    )
