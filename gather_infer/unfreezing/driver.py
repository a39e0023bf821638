"""`unfreeze`: makes fixed input sizes dynamic; `freeze` with the old sizes gives the original model back."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from typing import Final

from onnx import ModelProto

from gather_infer.inference import Access, Inference, infer
from gather_infer.inference.inference_driver import interpret_once
from gather_infer.inference.interface_types import Interface
from gather_infer.inference.interpreter import Interpreter
from gather_infer.ir import Model, require_well_formed
from gather_infer.model import ModelFile
from gather_infer.model.edits import Edit, Journal
from gather_infer.model.model_loading import ModelLike, to_caller_type, to_onnx_file
from gather_infer.model.paths import bodies
from gather_infer.model.tensors import fed_inputs
from gather_infer.node_ids import MAIN
from gather_infer.progress import Progress, no_progress
from gather_infer.provenance.confirmation import confirmed
from gather_infer.provenance.result import IndependenceVerdict
from gather_infer.provenance.row_verdicts import independence_of
from gather_infer.rules import RuleSet
from gather_infer.symbolic import Dim
from gather_infer.tensor import SymbolicTensor
from gather_infer.unfreezing.constants.repeated_lengths import repeated_by_length
from gather_infer.unfreezing.constants.repeated_rows import RepeatedRow
from gather_infer.unfreezing.counterpart import Counterpart, counterpart
from gather_infer.unfreezing.declared_types import declare, open_sizes
from gather_infer.unfreezing.factors.axis_factors import is_free
from gather_infer.unfreezing.factors.samples import Relation, SizeSamples
from gather_infer.unfreezing.factors.transposed_rows import (
    Pattern,
    ambiguous_rows,
    has_merged_rows,
    has_rows_in_two_axes,
)
from gather_infer.unfreezing.function_calls import InlinedCalls, with_inlined_calls
from gather_infer.unfreezing.images.window_masks import stage_of_one_window
from gather_infer.unfreezing.images.window_paddings import other_windows
from gather_infer.unfreezing.needless_nodes import inferred, without_needless_nodes
from gather_infer.unfreezing.result import Blocked, UnfreezeResult
from gather_infer.unfreezing.result_edits import NAME, drop_unread_initializers, edited_model, edits_between
from gather_infer.unfreezing.row_checks.other_places import has_same_elements
from gather_infer.unfreezing.row_checks.rows import check_rows
from gather_infer.unfreezing.sizes.computed_sizes import Site
from gather_infer.unfreezing.sizes.requested_sizes import Request, parse_sizes, requested
from gather_infer.unfreezing.sizes.required_sizes import with_required_sizes
from gather_infer.unfreezing.sizes.unknown_sizes import SizesFound, UnknownSizes
from gather_infer.unfreezing.walk import UnfreezingWalk
from gather_infer.validate import verdicts
from gather_infer.validate.condition import Condition, Elements
from gather_infer.validate.verdict import Verdict, VerdictKind

MAX_WALKS: Final = 7
MAX_TRIALS: Final = 12
"""Of sets of constants that are made to follow a size."""


def unfreeze(
    model: ModelLike,
    dims: Mapping[str, str] | Iterable[str],
    *,
    rows: Collection[str] = (),
    lengths: Collection[str] = (),
    like: ModelLike | None = None,
    partial: bool = False,
    verify: bool = True,
    rules: Sequence[RuleSet] = (),
    progress: Progress = no_progress,
) -> UnfreezeResult:
    """Give sizes of the inputs a name, and edit what stands for the old size; `gather_infer.unfreeze`.

    Constants and targets that contain the old size become expressions of the input's shape. A Reshape gets the freed
    size where the order of the elements puts it. What cannot be explained refuses the model, by the name of the node.

    model    a path, a ModelProto, a ModelFile or an onnx_graphsurgeon Graph; never changed
    dims     `["ids.0=batch", "mask.0=batch"]` or a mapping `{"ids.0": "batch"}`; `*.0=batch` names axis 0 of all inputs
             An axis that the file declares as `batch` already has the size that nodes require of it
    rows     names of sizes that count independent rows, as a batch does, on whatever axis
    lengths  names of sizes that do not; of the others, those count rows that are axis 0 wherever they occur
    like     a second export of the same network at other sizes: a constant that is the same in both is not the size,
             one that differs is, and the result equals both models at their sizes
    partial  whether to free some of several symbols if not all can be freed
    rules    the caller's rule sets, as for `infer`
    verify   whether to run rows together in the result and alone in the original, in onnxruntime

    Raises ModelReadError when the model cannot be read, ModelStructureError for a cycle or a name that is defined
    twice, UsageError for an input, an axis or a name that does not fit, and for a model `like` that is not the same
    graph at another size.
    """
    source = to_onnx_file(model)
    source.require_data()
    require_well_formed(Model(source.proto), source.name)
    fixed = with_required_sizes(source, parse_sizes(dims), rules)
    calls = with_inlined_calls(fixed.source)
    second = None if like is None else with_inlined_calls(to_onnx_file(like)).file
    request = requested(calls.source, fixed.pairs, rows, lengths, has_counterpart=second is not None)

    def attempt(asked: Request) -> UnfreezeResult:
        other = None if second is None else counterpart(calls.file, second, asked.sites, asked.freed, rules)
        result = _unfrozen(calls, model, asked, other, verify, rules, progress)
        return replace(result, numbers=fixed.numbers, required=fixed.required)

    result = attempt(request)
    if not partial or not result.refused or len(request.freed) == 1:
        return result
    kept: list[str] = []
    dropped: dict[str, str] = {}
    for name in request.freed:
        found = attempt(request.only([*kept, name]))
        if found.refused:
            dropped[name] = found.why_refused
        else:
            kept, result = [*kept, name], found
    return replace(result, dropped=dropped)


def _unfrozen(
    calls: InlinedCalls,
    model: ModelLike,
    request: Request,
    other: Counterpart | None,
    verify: bool,
    rules: Sequence[RuleSet],
    progress: Progress,
) -> UnfreezeResult:
    sites, freed, rows = request
    source, file = calls.source, calls.file
    named = {dim.dim_param for value in file.proto.graph.input for dim in value.type.tensor_type.shape.dim}
    fixed = {name: size for name, size in freed.items() if name in named}
    before = infer(file, dims=fixed, rules=rules, assume=False, progress=progress)
    opened = replace(file, proto=_opened(file.proto, sites))
    names = {value.name for value in file.proto.graph.input}

    def prepare(interpreter: Interpreter) -> None:
        assert isinstance(interpreter, UnfreezingWalk), "it has this type"
        opset = max((o.version for o in file.proto.opset_import if o.domain in ("", "ai.onnx")), default=1)
        first = {**_declared_sites(file.proto), **{name: sites[name][0] for name in freed}}
        used = _names(file.proto) | names
        interpreter.prepare(before.scopes, before.causes, freed, first, opset, used, rows, other)

    progress(lambda: "following the sizes")
    edits: list[Edit] = []
    walk, blocked = _followed(opened, prepare, freed, rules)
    proto, interface = source.proto, Interface()
    unreached: tuple[str, ...] = ()
    after: Inference | None = None
    if blocked is None:
        edited, reasons = edited_model(file.proto, walk)
        _open_inputs(edited, sites)
        after = inferred(file, edited, rules)
        if after.errors:
            where = after.errors[0].location
            blocked = Blocked(f"node {where.node}", after.errors[0].message)
        elif other is None and not walk.row_symbols.issuperset(freed):
            blocked = _loosened_access(before, after, walk.row_numbers.in_bounds, walk.samples)
    if blocked is None:
        assert after is not None
        smaller = None
        if walk.row_symbols.issuperset(freed) and not calls.calls:  # a changed node would inline its call
            smaller = without_needless_nodes(file, edited, after, rules)
        if smaller is not None:
            edited, after = smaller.proto, smaller.inference
            reasons |= smaller.reasons
        drop_unread_initializers(edited, file.proto)
        edits = [*edits_between(file.proto, edited, reasons)]
        interface = declare(source.proto, edited, after, walk.dependent)
        proto = calls.restored(edited)
        edits = calls.edits_of_source(edits, edited, proto, NAME)
        unreached = tuple(_fixed_outputs(before, after, freed, {tensor.name for tensor in edited.graph.initializer}))
    else:
        edits = []
    result = UnfreezeResult(
        model=to_caller_type(model, proto),
        diagnostics=before.diagnostics if file is source else infer(source, rules=rules).diagnostics,
        journal=Journal(edits),
        source=source,
        proto=proto,
        interface=interface,
        freed=freed,
        sites=request.texts,
        blocked=blocked,
        fixed=unreached,
        most={} if blocked is not None else dict(walk.upper_bounds),
        like=None if other is None else other.model,
        like_sizes={} if other is None else dict(other.sizes),
    )
    if blocked is None and after is not None:
        axes = {name: {site.input: site.axis for site in sites[name]} for name in freed if name in walk.row_symbols}
        independence = {name: independence_of(after, found) for name, found in axes.items()}
        if verify:
            for name, found in independence.items():
                if found.verdict is not IndependenceVerdict.PROVED:
                    progress(lambda: "running rows beside others")
                    independence[name] = confirmed(after, axes[name], found, proto)
        result = replace(result, independence=independence)
    if blocked is None and verify:
        assert after is not None, "there is a result"
        progress(lambda: "running rows together and alone")
        check = check_rows(source, proto, after, sites, freed, walk.factors, walk.row_symbols, walk.upper_bounds, other)
        result = replace(result, rows=check)
    return result


def _declared_sites(proto: ModelProto) -> dict[str, Site]:
    """The sizes that are dynamic in the file: an input axis for each name."""
    found: dict[str, Site] = {}
    for value in fed_inputs(proto):
        for axis, dim in enumerate(value.type.tensor_type.shape.dim):
            if dim.dim_param:
                found.setdefault(dim.dim_param, Site(value.name, axis))
    return found


def _followed(
    opened: ModelFile, prepare: Callable[[Interpreter], None], freed: Iterable[str], rules: Sequence[RuleSet]
) -> tuple[UnfreezingWalk, Blocked | None]:
    """The walk, and the node that blocks it.

    A size of 1 can stand in several places of a reshaped tensor. If a node blocks the walk, the last such choice before
    it is made in another way, `MAX_WALKS` times at most; the first fault is the one that is reported. Rows are run, and
    contradict a wrong place; a length is not, so that nothing may fit its other places, unless the elements are the
    same. Before that, constants behind the node are made to follow the size. Where a Reshape of one row may stand for a
    Transpose, too, rows have an axis of their own in the outputs. An output has the same rows in two axes, as products
    of all pairs of rows do, if no other place gives it one.
    """
    first: Blocked | None = None
    placements: dict[str | Pattern, int] = {}
    sizes: dict[Site, Dim] = {}

    divides_patches = False
    outputs = [value.name for value in opened.proto.graph.output]

    def follow(
        places: Mapping[str | Pattern, int], rows: tuple[RepeatedRow, ...], fills_up_to_counts: bool = False
    ) -> tuple[UnfreezingWalk, Blocked | None]:
        nonlocal divides_patches
        walks: list[UnfreezingWalk] = []

        def begin(interpreter: Interpreter) -> None:
            assert isinstance(interpreter, UnfreezingWalk), "it has this type"
            prepare(interpreter)
            interpreter.placements, interpreter.repeated_rows = places, rows
            interpreter.divides_patches, interpreter.fills_up_to_counts = divides_patches, fills_up_to_counts
            interpreter.unknown = UnknownSizes(interpreter, sizes)
            walks.append(interpreter)

        try:
            interpret_once(opened, UnfreezingWalk, begin, dims=[f"{name}=1.." for name in freed], rules=rules)
        except SizesFound as found:
            sizes.update(found.sizes)
            return follow(places, rows, fills_up_to_counts)
        except Blocked as fault:
            return walks[0], walks[0].unknown.fault or fault
        if walks[0].leaves_out_sizes and not divides_patches and walks[0].unknown.fault is None:
            divides_patches = True
            return follow(places, rows, fills_up_to_counts)
        blocked = walks[0].unknown.fault or stage_of_one_window(walks[0])
        return walks[0], blocked or repeated_by_length(walks[0])

    trials = MAX_TRIALS

    def with_repeated_rows(walk: UnfreezingWalk) -> UnfreezingWalk | None:
        """A walk that nothing blocks, in which constants behind a node follow the size; None if all are blocked."""
        nonlocal trials
        for row in walk.candidates:
            if row in walk.repeated_rows or not trials:
                continue
            trials -= 1
            another, blocked = follow(placements, (*walk.repeated_rows, row))
            found = another if blocked is None else with_repeated_rows(another)
            if found is not None:
                return found
        return None

    def settled(walk: UnfreezingWalk) -> tuple[UnfreezingWalk, Blocked | None]:
        """A walk that nothing blocks, or one with rows of their own in the outputs; why the file may mean another."""
        for pattern in [key for key in walk.ambiguous if isinstance(key, tuple) and has_merged_rows(walk, outputs)]:
            another, blocked = follow({**placements, pattern: 1 - placements.get(pattern, 0)}, walk.repeated_rows)
            if blocked is None and not has_merged_rows(another, outputs):
                walk = another
                break
        name = ambiguous_rows(walk, outputs)
        if name:
            return walk, Blocked(f"output {name}", "its rows may be in the axis of 1, or in that with other sizes")
        for name, others in walk.other_places.items():
            tries = [(at, is_count) for at in others for is_count in (False, True)[: 2 if walk.filled else 1]]
            for at, is_count in tries:
                another, blocked = follow({**placements, name: at}, walk.repeated_rows, is_count)
                if blocked is None and not has_same_elements(walk, another):
                    return walk, Blocked(f"value {name}", "more than one of its axes can hold a size of 1")
        return walk, other_windows(walk)

    paired: tuple[UnfreezingWalk, Blocked | None] | None = None
    for _ in range(MAX_WALKS):
        walk, fault = follow(placements, ())
        if fault is not None and walk.candidates:
            first = first or fault
            found = with_repeated_rows(walk)
            if found is not None:
                walk, fault = found, None
        if fault is None:
            result = settled(walk)
            if not has_rows_in_two_axes(result[0], outputs):
                return result
            paired = paired or result
        first = first or fault
        choice = next((n for n, count in reversed(walk.ambiguous.items()) if placements.get(n, 0) + 1 < count), None)
        if choice is None:
            break
        placements[choice] = placements.get(choice, 0) + 1
    return paired or (walk, first)


# the model that the walk reads


def _opened(proto: ModelProto, sites: Mapping[str, Iterable[Site]]) -> ModelProto:
    """A copy with symbols in the inputs, and no declared sizes elsewhere."""
    copy = ModelProto()
    copy.CopyFrom(proto)
    _open_inputs(copy, sites)
    open_sizes(copy)
    for value in copy.graph.output:
        if value.type.HasField("tensor_type"):
            value.type.tensor_type.ClearField("shape")
    return copy


def _open_inputs(proto: ModelProto, sites: Mapping[str, Iterable[Site]]) -> None:
    values = {value.name: value for value in proto.graph.input}
    for symbol, found in sites.items():
        for site in found:
            values[site.input].type.tensor_type.shape.dim[site.axis].dim_param = symbol


def _names(proto: ModelProto) -> set[str]:
    found: set[str] = set()
    for _, body in bodies(proto):
        for node in body.node:
            found.update(node.output)
        found.update(t.name for t in getattr(body, "initializer", ()))
    return found


# the result


def _loosened_access(before: Inference, after: Inference, in_bounds: Set[str], samples: SizeSamples) -> Blocked | None:
    """An index that is not proved in bounds any more: it stands for a position in the old size.

    So does one that is in bounds from the old size on, such as `index % 5` in an axis of 5. Rows need no such test, as
    they are run. The indices `in_bounds` are so by construction.
    """
    known: dict[tuple[str, int, int | None], list[Verdict]] = {}
    for each in verdicts(after):  # branches may use a name twice
        if each.access.indices not in in_bounds:
            known.setdefault(_access_key(each.access), []).append(each)
    for verdict in verdicts(before):
        for now in known.get(_access_key(verdict.access), ()):
            if verdict.kind is not VerdictKind.PROVED:
                continue
            label = f"node {now.access.node} ({now.access.op_type})"
            is_open = now.kind is VerdictKind.UNDECIDED or any(isinstance(c.left, Elements) for c in now.conditions)
            if is_open:
                return Blocked(label, f"its index is not in bounds: {now.reason}")
            if any(samples.broken([relation]) for each in now.conditions if (relation := _relation(each)) is not None):
                return Blocked(label, f"its index is in bounds for {now.condition} alone: {now.reason}")
    return None


def _relation(condition: Condition) -> Relation | None:
    """A condition on sizes; None for one on elements, or for several of which one has to hold."""
    left, right = condition.left, condition.right
    if isinstance(left, Elements) or condition.either:
        return None
    if condition.relation == ">=":
        return right, "<=", left
    return left, "<=", right - 1 if condition.relation == "<" else right


def _access_key(access: Access) -> tuple[str, int, int | None]:
    return access.result, access.input, None if access.addressing is None else access.addressing.column


def _fixed_outputs(before: Inference, after: Inference, freed: Mapping[str, int], constants: Set[str]) -> Iterator[str]:
    """The outputs that no freed size reaches, although one of their sizes is the old one, or they are constants."""
    for name in after.outputs:
        now, was = after.scopes[MAIN].get(name), before.scopes[MAIN].get(name)
        if isinstance(now, SymbolicTensor) and isinstance(was, SymbolicTensor):
            shape = now.shape or ()
            if any(is_free(dim, freed) for dim in shape):
                continue
            if name in constants or any(dim in freed.values() for dim in was.shape or ()):
                yield name
