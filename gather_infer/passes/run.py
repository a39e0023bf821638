"""`fold` and `optimize`: a model smaller and faster that computes the same."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from gather_infer.diagnostic import Severity
from gather_infer.errors import UsageError
from gather_infer.inference import Inference, infer
from gather_infer.inference.interface import declare
from gather_infer.inference.options import suggestion
from gather_infer.model.apply import apply
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


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class OptimizeResult(PassResult):
    """A model after `fold` or `optimize`; `done` are the rewrites in the order in which they were made.

    inference   of the model that was given, on which they rest
    """

    done: tuple[Done, ...]
    inference: Inference


def fold(
    model: GivenModel,
    *,
    max_growth: int = DEFAULT_MAX_GROWTH,
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
    dims, inputs, rules   as for `infer`; the result is right for such inputs only, and declares them

    Raises ModelReadError when the model or its external data cannot be read, ModelStructureError when it cannot be
    rewritten safely (a cycle, a name defined twice), UsageError for a negative `max_growth` and as `infer`.
    """
    return _run(model, FOLDING, lambda _: True, "fold", max_growth, dims, inputs, rules)


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
    max_growth  as for `fold`
    passes      names of the rules that are asked, all when empty; `skip` those that are not
    rewrites    sets of the caller, asked before the package's own
    dims, inputs, rules   as for `infer`; the result is right for such inputs only, and declares them

    Raises as `fold`, and UsageError for a rule that there is not.
    """
    sets = (*rewrites, *ALL)
    names = {listed.name for each in sets for listed in each.listed()}
    for name in (*passes, *skip):
        if name not in names:
            raise UsageError(f"there is no rewrite {name!r}{suggestion(name, sorted(names))}")

    def is_wanted(name: str) -> bool:
        return (not passes or name in passes) and name not in skip

    return _run(model, sets, is_wanted, "optimize", max_growth, dims, inputs, rules)


def rule_names() -> list[str]:
    """The names of the rules of `optimize`, in the order in which they are listed."""
    return list(dict.fromkeys(listed.name for each in ALL for listed in each.listed()))


def _run(
    model: GivenModel,
    sets: Sequence[RewriteSet],
    is_wanted: Callable[[str], bool],
    by: str,
    max_growth: int,
    dims: Mapping[str, object] | Iterable[str],
    inputs: Mapping[str, str] | Iterable[str],
    rules: Sequence[RuleSet],
) -> OptimizeResult:
    if max_growth < 0:
        raise UsageError(f"max_growth must be >= 0, is {max_growth}")
    source = to_model_file(model)
    inference = infer(source, dims=dims, inputs=inputs, rules=rules, assume=False)
    draft = Draft(Subject(inference))
    faulty: set[tuple[GraphPath, int]] = {
        (d.location.node.graph, d.location.node.position)
        for d in inference.diagnostics
        if d.severity is Severity.ERROR and d.location.node is not None
    }
    engine = Engine(draft, Table(sets, is_wanted), max_growth, by == "optimize", frozenset(faulty))
    engine.run()
    journal = draft.journal(by)
    declared, interface = declare(source.proto, inference, rests=bool(journal.edits))
    proto = apply(journal, declared)
    return OptimizeResult(
        model=as_given(model, proto),
        done=tuple(engine.done),
        inference=inference,
        diagnostics=(*inference.diagnostics, *engine.left),
        journal=journal,
        source=source,
        proto=proto,
        interface=interface,
    )
