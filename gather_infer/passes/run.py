"""`fold` and `optimize`: a model smaller and faster that computes the same."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from gather_infer.diagnostic import Diagnostic
from gather_infer.errors import UsageError, suggestion
from gather_infer.inference import Inference, infer
from gather_infer.inference.interface import declare
from gather_infer.model import ModelFile
from gather_infer.model.apply import apply
from gather_infer.model.edits import Journal
from gather_infer.model.given import GivenModel, as_given, to_onnx_file, with_constants
from gather_infer.passes.callers import guarded
from gather_infer.passes.draft import Draft
from gather_infer.passes.engine import Done, Engine
from gather_infer.passes.evaluate.runtime import RuntimeEvaluator
from gather_infer.passes.keeping import Keeping
from gather_infer.passes.result import PassResult
from gather_infer.passes.rewrites import FOLDING, REWRITING
from gather_infer.passes.rewrites import floats as floating
from gather_infer.passes.subject import Subject
from gather_infer.passes.table import RewriteSet, Table
from gather_infer.places import GraphPath, NodePath
from gather_infer.progress import Progress, unseen
from gather_infer.rules import RuleSet

DEFAULT_MAX_GROWTH = 1 << 20
"""Bytes by which a rewrite may let the constants grow: enough for positions and masks, too little for an embedding."""


MAX_KEPT = 4
"""Times that a model is rewritten as long as nodes of it have to be left alone: in the result these may be fewer."""

MAX_ROUNDS = 4
"""How often a model is inferred: where bodies or functions are simpler now, more may be known of what they give."""


@dataclass(frozen=True, slots=True)
class Round:
    """What was known of a model, and what was done to it."""

    inference: Inference
    journal: Journal


@dataclass(frozen=True, slots=True)
class FoldedFloats:
    """Nodes whose results are those of a runtime, which others round in their own ways.

    runtime    with its version
    tolerance  how far outputs may be apart by it, relative to max(1, |original|)
    nodes      as the file has them
    """

    runtime: str
    tolerance: float
    nodes: tuple[NodePath, ...]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class OptimizeResult(PassResult):
    """A model after `fold` or `optimize`; `done` are the rewrites in the order in which they were made.

    inference   of the model that was given
    rounds      until nothing was left to do, each with the inference on which it rests
    floats      what is not the same bit for bit; None when all of it is
    """

    done: tuple[Done, ...]
    inference: Inference
    rounds: tuple[Round, ...]
    floats: FoldedFloats | None = None

    @property
    def edits(self) -> list[str]:
        return [line for each in self.rounds for line in each.journal.describe(each.inference.model.proto)]


def fold(
    model: GivenModel,
    *,
    max_growth: int = DEFAULT_MAX_GROWTH,
    passes: Collection[str] = (),
    skip: Collection[str] = (),
    fold_floats: bool = False,
    dims: Mapping[str, object] | Iterable[str] = (),
    inputs: Mapping[str, str] | Iterable[str] = (),
    rules: Sequence[RuleSet] = (),
    initializers_as_constants: bool = False,
    progress: Progress = unseen,
) -> OptimizeResult:
    """Nodes whose results are the same in every run, replaced by constants; `gather_infer.fold`.

    A result is known when all inputs are constant (an initializer that is also an input is not), or when the
    inference knows all elements as numbers: `Gather(Shape(x), 1)` of a static dim. Nothing is folded that rests on
    an assumption. Results are bit for bit those of the node. What only fed folded nodes goes as well; everything
    else stays.

    model       a path, a ModelProto, a ModelFile or an onnx_graphsurgeon Graph; never changed
    max_growth  bytes by which one node may let the constants grow; one that needs more is left alone and reported
    passes      names of the rules that are asked, all when empty; `skip` those that are not
    fold_floats  float operators of constants too whose results runtimes round in their own ways (Exp, MatMul, ...),
                 evaluated by onnxruntime, by onnx's reference evaluator where it is not installed: `floats` of the
                 result has the nodes, and how far outputs may be apart by it
    dims, inputs, rules   as for `infer`; the result is right for such inputs only, and declares them
    initializers_as_constants   an initializer that is an input too is a constant, and no input of the result
    progress    is given a function that tells what is being done, whenever it is asked, from any thread

    Raises ModelReadError when the model or its external data cannot be read, ModelStructureError when it cannot be
    rewritten safely (a cycle, a name defined twice), UsageError for a negative `max_growth`, a rule that there is
    not, and as `infer`.

        >>> folded = gather_infer.fold("fixtures/bert-torchscript.onnx", dims=["batch=1"])
        >>> print(folded.before.nodes, folded.after.nodes)
        335 270
    """
    choice = _Choice(passes, skip, fold_floats)
    return _run(model, "fold", (), choice, max_growth, dims, inputs, rules, initializers_as_constants, progress)


def optimize(
    model: GivenModel,
    *,
    max_growth: int = DEFAULT_MAX_GROWTH,
    passes: Collection[str] = (),
    skip: Collection[str] = (),
    rewrites: Sequence[RewriteSet] = (),
    fold_floats: bool = False,
    dims: Mapping[str, object] | Iterable[str] = (),
    inputs: Mapping[str, str] | Iterable[str] = (),
    rules: Sequence[RuleSet] = (),
    initializers_as_constants: bool = False,
    progress: Progress = unseen,
) -> OptimizeResult:
    """The model with every rewrite that makes it smaller or faster and computes the same; `gather_infer.optimize`.

    Outputs are bit for bit those of the model, `fold_floats` aside, in every run in which it does not fail; inputs,
    outputs, their names, order and symbolic dims stay. A rewrite never adds nodes, nor bytes that a run reads and
    writes.

    model       a path, a ModelProto, a ModelFile or an onnx_graphsurgeon Graph; never changed
    rewrites    sets of the caller, asked before the package's own
    max_growth, passes, skip, fold_floats, initializers_as_constants, progress   as for `fold`
    dims, inputs, rules   as for `infer`; the result is right for such inputs only, and declares them

    Raises as `fold`.

        >>> small = gather_infer.optimize("fixtures/gpt2-kv-torchscript.onnx")
        >>> print(small.before.nodes, small.after.nodes)
        544 139
        >>> small.save("small.onnx")
    """
    choice = _Choice(passes, skip, fold_floats)
    return _run(
        model, "optimize", rewrites, choice, max_growth, dims, inputs, rules, initializers_as_constants, progress
    )


def rule_names(by: str) -> list[str]:
    """The names of the rules of `fold` or `optimize`, in the order in which they are listed."""
    return _names(_sets(by, (), None))


def _sets(by: str, rewrites: Iterable[RewriteSet], runtime: RuntimeEvaluator | None) -> tuple[RewriteSet, ...]:
    """The tables of `fold` or `optimize`, in the order in which they are asked, those of the caller first."""
    return (*map(guarded, rewrites), *FOLDING, floating.folding_by(runtime), *(REWRITING if by == "optimize" else ()))


def _names(sets: Iterable[RewriteSet]) -> list[str]:
    return list(dict.fromkeys(listed.name for each in sets for listed in each.listed()))


@dataclass(frozen=True, slots=True)
class _Choice:
    """Which rules are asked; see `fold`."""

    passes: Collection[str]
    skip: Collection[str]
    fold_floats: bool

    def table(self, sets: Sequence[RewriteSet]) -> Table:
        """Raises UsageError for a rule that there is not."""
        names = _names(sets)
        for name in (*self.passes, *self.skip):
            if name not in names:
                raise UsageError(f"there is no rewrite {name!r}{suggestion(name, sorted(names))}")
        if floating.NAME in self.passes and not self.fold_floats:
            raise UsageError(f"{floating.NAME} may change last bits, so it is asked for with --fold-floats as well")
        skipped = {*self.skip, *(() if self.fold_floats else (floating.NAME,))}
        return Table(sets, lambda name: (not self.passes or name in self.passes) and name not in skipped)


def _run(
    model: GivenModel,
    by: str,
    rewrites: Sequence[RewriteSet],
    choice: _Choice,
    max_growth: int,
    dims: Mapping[str, object] | Iterable[str],
    inputs: Mapping[str, str] | Iterable[str],
    rules: Sequence[RuleSet],
    initializers_as_constants: bool,
    progress: Progress,
) -> OptimizeResult:
    if max_growth < 0:
        raise UsageError(f"max_growth must be >= 0, is {max_growth}")
    with RuntimeEvaluator() as runtime:
        table = choice.table(_sets(by, rewrites, runtime if choice.fold_floats else None))
        source = to_onnx_file(model)
        if initializers_as_constants:
            source = with_constants(source)
        source.require_data()

        def infer_all(subject: ModelFile) -> Inference:
            return infer(subject, dims=dims, inputs=inputs, rules=rules, assume=False, progress=progress)

        inference = first = infer_all(source)
        rounds: list[Round] = []
        done: list[Done] = []
        notes: list[Diagnostic] = []
        for _ in range(MAX_KEPT):
            keeping = Keeping(inference)
            while True:
                made = _rewritten(inference, infer_all, table, max_growth, by, keeping.names, progress)
                last = made.rounds[-1]
                rests = any(len(each.journal) for each in (*rounds, *made.rounds))
                declared, interface = declare(last.inference.model.proto, last.inference, rests=rests)
                proto = apply(last.journal, declared)
                if not keeping.learns_from(proto, made.engine.draft):
                    break
            rounds += made.rounds
            done += made.done
            notes = notes or keeping.notes  # later ones are of nodes that the file does not have
            if not keeping.names or not any(len(each.journal) for each in made.rounds):
                break
            subject = last.inference.model
            inference = infer_all(replace(subject, proto=apply(last.journal, subject.proto)))
    inexact = tuple(each.node for each in done if each.rule == floating.NAME)
    return OptimizeResult(
        model=as_given(model, proto),
        done=tuple(done),
        inference=first,
        diagnostics=(*first.diagnostics, *made.engine.left, *notes),
        journal=rounds[0].journal,
        rounds=tuple(rounds),
        floats=FoldedFloats(runtime.runtime, runtime.tolerance, inexact) if inexact else None,
        source=source,
        proto=proto,
        interface=interface,
    )


class _Rewritten(NamedTuple):
    """A model rewritten until no rule has anything to say; `engine` is the one of the last round."""

    rounds: tuple[Round, ...]
    done: tuple[Done, ...]
    engine: Engine


def _rewritten(
    first: Inference,
    infer_again: Callable[[ModelFile], Inference],
    table: Table,
    max_growth: int,
    by: str,
    kept: frozenset[str],
    progress: Progress,
) -> _Rewritten:
    """What becomes of a model of which this is known, but for the nodes that write the `kept` values."""
    rounds: list[Round] = []
    done: list[Done] = []
    inference = first
    while True:
        engine = Engine(Draft(Subject(inference)), table, max_growth, by == "optimize", _faulty(inference), kept)
        progress(_telling(done, engine))
        engine.run()
        rounds.append(Round(inference, engine.draft.journal(by)))
        done += engine.done
        if not engine.done or not engine.is_open or len(rounds) == MAX_ROUNDS:
            return _Rewritten(tuple(rounds), tuple(done), engine)
        subject = inference.model
        inference = infer_again(replace(subject, proto=apply(rounds[-1].journal, subject.proto)))


def _telling(done: Sequence[Done], engine: Engine) -> Callable[[], str]:
    return lambda: f"rewriting, {len(done) + len(engine.done)} rewrites"


def _faulty(inference: Inference) -> frozenset[tuple[GraphPath, int]]:
    """The nodes at which the inference has found that a run fails."""
    return frozenset(
        (d.location.node.graph, d.location.node.position)
        for d in inference.diagnostics
        if d.is_failure and d.location.node is not None
    )
