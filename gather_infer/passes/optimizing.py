"""`fold` and `optimize`: constant folding, and all rewrites that make a model smaller or faster."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from gather_infer.diagnostic import Diagnostic
from gather_infer.errors import UsageError, suggestion
from gather_infer.inference import Inference, infer
from gather_infer.inference.interface_types import declare
from gather_infer.ir.collection import rare_collections
from gather_infer.ir.write_back import journal_of
from gather_infer.model import ModelFile
from gather_infer.model.apply import apply
from gather_infer.model.edits import Journal
from gather_infer.model.model_loading import ModelLike, to_caller_type, to_onnx_file, with_constants
from gather_infer.node_ids import GraphPath, NodePath
from gather_infer.passes.greedy_driver import AppliedRewrite, GreedyDriver
from gather_infer.passes.loadability import ProtectedValues, corrections
from gather_infer.passes.mutable_model import MutableModel
from gather_infer.passes.pass_input import PassInput
from gather_infer.passes.result import PassResult
from gather_infer.passes.rewrites import FOLDING, REWRITING
from gather_infer.passes.rewrites import floats as floating
from gather_infer.passes.rule_table import RewriteSet, RuleTable
from gather_infer.passes.user_rewrites import checked
from gather_infer.progress import Progress, no_progress
from gather_infer.rules import RuleSet

if TYPE_CHECKING:
    from gather_infer.passes.evaluate.runtime import RuntimeEvaluator

DEFAULT_MAX_GROWTH = 1 << 20
"""Bytes by which a rewrite may let the constants grow: enough for positions and masks, too few for an embedding."""


MAX_PROTECTED_RUNS = 4
"""Maximum number of runs to a fixed point while values are protected: a rewritten model may need fewer of them."""

MAX_ROUNDS = 4
"""Maximum number of rounds of inference and rewriting in one run to a fixed point.

Simpler subgraphs or functions may let a new inference find more about their outputs.
"""


class Round(NamedTuple):
    """The inference of a model, and the edits of the rewrites that were applied with its facts."""

    inference: Inference
    journal: Journal


class FoldedFloats(NamedTuple):
    """Nodes whose float results a runtime has computed; other runtimes round them differently.

    runtime    name and version of the runtime
    tolerance  bound of the difference of outputs, relative to max(1, |original|)
    nodes      their paths in the file
    """

    runtime: str
    tolerance: float
    nodes: tuple[NodePath, ...]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class OptimizeResult(PassResult):
    """A model after `fold` or `optimize`; `applied` are the rewrites in the order of their application.

    inference   of the original model
    rounds      the rounds of inference and rewriting up to the fixed point
    floats      the results that are not bit-identical; None if all are
    """

    applied: tuple[AppliedRewrite, ...]
    inference: Inference
    rounds: tuple[Round, ...]
    floats: FoldedFloats | None = None

    @property
    def edits(self) -> list[str]:
        return [line for each in self.rounds for line in each.journal.describe(each.inference.model.proto)]

    @property
    def generated(self) -> Collection[str]:
        """The generated symbols that dims of the model may contain."""
        return self.inference.causes


def fold(
    model: ModelLike,
    *,
    max_growth: int = DEFAULT_MAX_GROWTH,
    passes: Collection[str] = (),
    skip: Collection[str] = (),
    fold_floats: bool = False,
    dims: Mapping[str, object] | Iterable[str] = (),
    inputs: Mapping[str, str] | Iterable[str] = (),
    rules: Sequence[RuleSet] = (),
    initializers_as_constants: bool = False,
    progress: Progress = no_progress,
) -> OptimizeResult:
    """Replace nodes whose results are the same in every run by constants (constant folding); `gather_infer.fold`.

    A result is known if all inputs are constant (an initializer that is also an input is not). It is also known if the
    inference knows all elements as numbers: `Gather(Shape(x), 1)` of a static dim. No fold rests on an assumption.
    Results are bit for bit those of the node. Code that only fed folded nodes is removed; everything else stays.

    model       a path, a ModelProto, a ModelFile or an onnx_graphsurgeon Graph; never changed
    max_growth  bytes by which one node may let the constants grow; a node that needs more is left alone and reported
    passes      names of the rules to apply, all if empty; `skip` those not to apply
    fold_floats  also evaluate float operators of constants that runtimes round differently (Exp, MatMul, ...), in
                 onnxruntime, or in onnx's reference evaluator if it is not installed: `floats` of the result lists the
                 nodes and a bound of the difference of outputs
    dims, inputs, rules   as for `infer`; the result is right for such inputs only, and declares them
    initializers_as_constants   an initializer that is an input too is a constant, and no input of the result
    progress    receives a function that returns the current step, callable at any time from any thread

    Raises ModelReadError when the model or its external data cannot be read, ModelStructureError when it cannot be
    rewritten safely (a cycle, a name defined twice), UsageError for a negative `max_growth`, an unknown rule, and as
    `infer`.

        >>> folded = gather_infer.fold("fixtures/bert-torchscript.onnx", dims=["batch=1"])
        >>> print(folded.before.nodes, folded.after.nodes)
        335 270
    """
    selection = _RuleSelection(passes, skip, fold_floats)
    return _run(model, "fold", (), selection, max_growth, dims, inputs, rules, initializers_as_constants, progress)


def optimize(
    model: ModelLike,
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
    progress: Progress = no_progress,
) -> OptimizeResult:
    """Apply every rewrite that makes the model smaller or faster and preserves its results; `gather_infer.optimize`.

    The rewrites are constant folding, canonicalization, common subexpression elimination, inlining and dead code
    elimination. A greedy worklist driver applies them until they reach a fixed point. Outputs are bit for bit those of
    the model, `fold_floats` aside, in every run in which it does not fail. Inputs, outputs, their names, order and
    symbolic dims stay. A rewrite never adds nodes, nor bytes that a run reads and writes.

    model       a path, a ModelProto, a ModelFile or an onnx_graphsurgeon Graph; never changed
    rewrites    rewrite sets of the caller, applied before those of the package
    max_growth, passes, skip, fold_floats, initializers_as_constants, progress   as for `fold`
    dims, inputs, rules   as for `infer`; the result is right for such inputs only, and declares them

    Raises as `fold`.

        >>> small = gather_infer.optimize("fixtures/gpt2-kv-torchscript.onnx")
        >>> print(small.before.nodes, small.after.nodes)
        544 139
        >>> small.save("small.onnx")
    """
    selection = _RuleSelection(passes, skip, fold_floats)
    return _run(
        model, "optimize", rewrites, selection, max_growth, dims, inputs, rules, initializers_as_constants, progress
    )


def rule_names(by: str) -> list[str]:
    """The names of the rules of `fold` or `optimize`, in table order."""
    return _names(_sets(by, (), None))


def _sets(by: str, rewrites: Iterable[RewriteSet], runtime: RuntimeEvaluator | None) -> tuple[RewriteSet, ...]:
    """The rule tables of `fold` or `optimize`, in order of precedence, those of the caller first."""
    return (
        *map(checked, rewrites),
        *FOLDING,
        floating.float_folding(runtime),
        *(REWRITING if by == "optimize" else ()),
    )


def _names(sets: Iterable[RewriteSet]) -> list[str]:
    return list(dict.fromkeys(entry.name for each in sets for entry in each.entries()))


class _RuleSelection(NamedTuple):
    """The rules that the caller selects by the arguments `passes`, `skip` and `fold_floats` of `fold`."""

    passes: Collection[str]
    skip: Collection[str]
    fold_floats: bool

    def table(self, sets: Sequence[RewriteSet]) -> RuleTable:
        """The table of the selected rules. Raises UsageError for an unknown name."""
        names = _names(sets)
        for name in (*self.passes, *self.skip):
            if name not in names:
                raise UsageError(f"there is no rewrite {name!r}{suggestion(name, sorted(names))}")
        if floating.NAME in self.passes and not self.fold_floats:
            raise UsageError(f"{floating.NAME} may change the last bits of results: it needs --fold-floats as well")
        skipped = {*self.skip, *(() if self.fold_floats else (floating.NAME,))}
        return RuleTable(sets, lambda name: (not self.passes or name in self.passes) and name not in skipped)


def _runtime(is_needed: bool) -> AbstractContextManager[RuntimeEvaluator | None]:
    """The runtime for `fold_floats`, which is imported only if it is needed; else None."""
    if not is_needed:
        return nullcontext()
    from gather_infer.passes.evaluate.runtime import RuntimeEvaluator

    return RuntimeEvaluator()


@rare_collections()
def _run(
    model: ModelLike,
    by: str,
    rewrites: Sequence[RewriteSet],
    selection: _RuleSelection,
    max_growth: int,
    dims: Mapping[str, object] | Iterable[str],
    inputs: Mapping[str, str] | Iterable[str],
    rules: Sequence[RuleSet],
    initializers_as_constants: bool,
    progress: Progress,
) -> OptimizeResult:
    if max_growth < 0:
        raise UsageError(f"max_growth must be >= 0, is {max_growth}")
    with _runtime(selection.fold_floats) as runtime:
        table = selection.table(_sets(by, rewrites, runtime))
        source = to_onnx_file(model)
        if initializers_as_constants:
            source = with_constants(source)
        source.require_data()

        def infer_all(subject: ModelFile) -> Inference:
            return infer(subject, dims=dims, inputs=inputs, rules=rules, assume=False, progress=progress)

        inference = first = infer_all(source)
        rounds: list[Round] = []
        applied: list[AppliedRewrite] = []
        notes: list[Diagnostic] = []
        for _ in range(MAX_PROTECTED_RUNS):
            protected = ProtectedValues(inference)
            corrected: Journal | None = None
            while True:
                rewritten = _rewrite_to_fixed_point(
                    inference, infer_all, table, max_growth, by, protected.names, progress
                )
                last = rewritten.rounds[-1]
                rests = any(len(each.journal) for each in (*rounds, *rewritten.rounds))
                declared, interface = declare(last.inference.model.proto, last.inference, is_relied_on=rests)
                proto = apply(last.journal, declared)
                if not protected.extend_for(proto, rewritten.driver.model):
                    break
                if corrected is None and rests:
                    corrected = corrections(inference, by)
                    if len(corrected):
                        rounds.append(Round(inference, corrected))
                        subject = inference.model
                        inference = infer_all(replace(subject, proto=apply(corrected, subject.proto)))
                        protected = ProtectedValues(inference)
            rounds += rewritten.rounds
            applied += rewritten.applied
            notes = notes or protected.diagnostics  # later diagnostics are about nodes that the file does not contain
            if not protected.names or not any(len(each.journal) for each in rewritten.rounds):
                break
            model_file = last.inference.model
            inference = infer_all(replace(model_file, proto=apply(last.journal, model_file.proto)))
    inexact = tuple(each.node for each in applied if each.rule == floating.NAME)
    return OptimizeResult(
        model=to_caller_type(model, proto),
        applied=tuple(applied),
        inference=first,
        diagnostics=(*first.diagnostics, *rewritten.driver.diagnostics, *notes),
        journal=rounds[0].journal,
        rounds=tuple(rounds),
        floats=FoldedFloats(runtime.runtime, runtime.tolerance, inexact) if runtime is not None and inexact else None,
        source=source,
        proto=proto,
        interface=interface,
    )


class _RewriteRun(NamedTuple):
    """The rounds of one run to a fixed point; `driver` is the driver of the last round."""

    rounds: tuple[Round, ...]
    applied: tuple[AppliedRewrite, ...]
    driver: GreedyDriver


def _rewrite_to_fixed_point(
    first: Inference,
    infer_again: Callable[[ModelFile], Inference],
    table: RuleTable,
    max_growth: int,
    by: str,
    protected: frozenset[str],
    progress: Progress,
) -> _RewriteRun:
    """Alternate rewriting and inference to a fixed point; nodes that write `protected` values are left alone."""
    rounds: list[Round] = []
    applied: list[AppliedRewrite] = []
    inference = first
    while True:
        driver = GreedyDriver(
            MutableModel(PassInput(inference)), table, max_growth, by == "optimize", faulty_nodes(inference), protected
        )
        progress(_progress_text(applied, driver))
        driver.run()
        rounds.append(Round(inference, journal_of(driver.model, by)))
        applied += driver.applied
        if not driver.applied or not driver.needs_another_round or len(rounds) == MAX_ROUNDS:
            return _RewriteRun(tuple(rounds), tuple(applied), driver)
        model_file = inference.model
        inference = infer_again(replace(model_file, proto=apply(rounds[-1].journal, model_file.proto)))


def _progress_text(applied: Sequence[AppliedRewrite], driver: GreedyDriver) -> Callable[[], str]:
    return lambda: f"rewriting, {len(applied) + len(driver.applied)} rewrites"


def faulty_nodes(inference: Inference) -> frozenset[tuple[GraphPath, int]]:
    """The nodes at which the inference has found a failure, as (path of the graph, position)."""
    return frozenset(
        (d.location.node.graph, d.location.node.position)
        for d in inference.diagnostics
        if d.is_failure and d.location.node is not None
    )
