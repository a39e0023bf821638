"""`diff`: a proof that two models are equal, or an input that tells them apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from gather_infer.contract import new_requirements
from gather_infer.domains import qualified, versions_of
from gather_infer.equality.constants import ModelConstants, changed_weights
from gather_infer.equality.first_difference import first_difference
from gather_infer.equality.given import Given, domains_of, repeatable, texts_of
from gather_infer.equality.interface import with_interface, without_outputs
from gather_infer.equality.named_laws import laws_of
from gather_infer.equality.proof import Proof, Prover, shape_of
from gather_infer.equality.result import (
    ContractComparison,
    CostChange,
    Difference,
    DiffVerdict,
    Law,
    OperatorCounts,
    OutputComparison,
    ProofClass,
)
from gather_infer.equality.smallest_feeds import smallest_feeds
from gather_infer.equality.transported_bounds import with_bounds_of
from gather_infer.errors import UsageError
from gather_infer.inference import Inference, infer
from gather_infer.inference.constraints.given import symbols_of_inputs
from gather_infer.ir.collection import rare_collections
from gather_infer.model import ModelFile
from gather_infer.model.function_inlining import without_functions
from gather_infer.model.model_loading import ModelLike, to_model_file, with_constants
from gather_infer.model.tensors import fed_inputs
from gather_infer.progress import Progress, no_progress
from gather_infer.rules import RuleSet
from gather_infer.symbolic import Dim, DimTooLarge, Expr, substitute
from gather_infer.tensor import MapType, OptionalType, SequenceType, SparseTensor, SymbolicTensor, Value
from gather_infer.validate.contract_builder import contract_of, with_assumptions
from gather_infer.verification import verify
from gather_infer.verification.result import Mismatch, Verification, shown_binding

DEFAULT_RUNS: Final = 8
_QUANTITIES: Final = {
    "macs": "macs", "reads": "reads", "writes": "writes", "peak": "peak", "parameters": "parameter_bytes",
}  # fmt: skip
"""The costs that are compared -> members of `Cost`."""
_WEAKEST: Final = (
    DiffVerdict.NOT_COMPARABLE,
    DiffVerdict.DIFFERENT,
    DiffVerdict.UNKNOWN,
    DiffVerdict.RUNS,
    DiffVerdict.PROVED,
)


@rare_collections()
def diff(
    first: ModelLike,
    second: ModelLike,
    *,
    dims: Mapping[str, object] | Iterable[str] = (),
    inputs: Mapping[str, str] | Iterable[str] = (),
    ranges: Mapping[str, object] | Iterable[str] = (),
    rules: Sequence[RuleSet] = (),
    initializers_as_constants: bool = False,
    outputs: Mapping[str, str] | None = None,
    laws: Iterable[Law | str] = (),
    details: bool = True,
    runs: int = DEFAULT_RUNS,
    feeds: Sequence[Mapping[str, Any]] = (),
    rtol: float | None = None,
    atol: float | None = None,
    progress: Progress = no_progress,
) -> Difference:
    """Compare two models: a proof that their outputs are equal for all sizes, or runs of what is not proved.

    first, second   paths, ModelProtos, ModelFiles or onnx_graphsurgeon Graphs; never changed
    dims, inputs, ranges, rules, initializers_as_constants   as for `infer`, about both models
    outputs      output of the first model -> output of the second, or "" to leave it out; by name, else by position, if
                 not given
    laws         names of laws that a proof may use, "rows", "columns", "gemm-bias"; the class of such a proof says so
    details      whether to compare contracts and costs too, for which each model is inferred once more
    runs         how many random inputs to run both models on if something is not proved; 0 for none
    feeds        inputs by name, an array each, which are run first
    rtol, atol   floats in runs may differ by atol + rtol * |original|; a proof is always about bits, NaN being NaN

    A proof covers each run in which the first model succeeds, and that the second one succeeds there too. Operators
    other than those that move elements or are pointwise and exact count as unknown functions of their operands.

    Raises ModelReadError when a model cannot be read, UsageError for arguments that `infer` rejects, a negative number
    of runs, an unknown law, or an output that does not exist.

        >>> small = gather_infer.optimize("fixtures/bert-torchscript.onnx").file
        >>> found = gather_infer.diff("fixtures/bert-torchscript.onnx", small)
        >>> print(found.verdict, [str(each.proof_class) for each in found.outputs])
        proved ['same calls', 'same calls']
    """
    if runs < 0:
        raise UsageError(f"the number of runs must be >= 0, is {runs}")
    allowed = laws_of(laws)
    dims, inputs, ranges = repeatable(dims), repeatable(inputs), repeatable(ranges)
    given = Given(
        texts_of(dims),
        texts_of(inputs),
        texts_of(ranges),
        initializers_as_constants,
        dict(outputs or {}),
        domains_of(rules),
        tuple(map(str, allowed)),
    )
    files = [to_model_file(first), to_model_file(second)]
    if left_out := [name for name, other in (outputs or {}).items() if not other]:
        files[0] = without_outputs(files[0], left_out)
        outputs = {name: other for name, other in (outputs or {}).items() if other}
    if initializers_as_constants:
        files = [with_constants(file) for file in files]
    files = [without_functions(file) for file in files]
    names = [symbols_of_inputs(fed_inputs(file.proto), {})[0] for file in files]
    mine, its = (_given_to(own, other, dims) for own, other in (names, names[::-1]))
    one = _inferred(files[0], mine, inputs, ranges, rules, progress)
    two = _inferred_after(one, files[1], its, inputs, ranges, rules, progress)
    pairs, notes, faults = _paired_inputs(one, two)
    compared, output_notes = _paired_outputs(one, two, outputs)
    output_notes = [*(f"output {name} is left out" for name in left_out), *output_notes]
    constants = ModelConstants(one), ModelConstants(two)
    found = Difference(
        files[0].name,
        files[1].name,
        DiffVerdict.NOT_COMPARABLE,
        (),
        (*faults, *notes, *output_notes),
        (),
        _changed_opsets(one.model, two.model),
        _operator_counts(one, two),
        tuple(changed_weights(*constants)),
        given=given,
    )
    if faults:
        reason = faults[0]
        each = [OutputComparison(a, b, DiffVerdict.NOT_COMPARABLE, None, reason) for a, b in compared.items()]
        return replace(found, outputs=tuple(each))
    progress(lambda: "proving")
    prover = Prover(one, two, pairs, constants, allowed)
    proved, proof = _proved(prover, compared)
    obligations = tuple(dict.fromkeys(prover.open_obligations(proof)))
    results = [_judged(prover, proof, a, b, proved.get(a), obligations) for a, b in compared.items()]
    unproved = [each for each in results if each.verdict is DiffVerdict.UNKNOWN]
    parted = next((each for each in unproved if each.proof_class is None), None)
    difference = None if parted is None else first_difference(proof, parted.name, parted.other)
    verification = None
    witness = None
    if any(each.verdict is not DiffVerdict.PROVED for each in results) and (runs or feeds):
        verification = _run(one, two, compared, pairs, runs, feeds, rtol, atol, progress)
        if verification is not None:
            witness = verification.differing_feeds
            results = [_after_runs(each, verification) for each in results]
    without = DiffVerdict.UNKNOWN if obligations else DiffVerdict.PROVED
    verdict = min((each.verdict for each in results), key=_WEAKEST.index, default=without)
    if details:
        progress(lambda: "comparing contracts and costs")
        a, b = (
            contract_of(file, dims=own, inputs=inputs, ranges=ranges, rules=rules)
            for file, own in zip(files, (mine, its), strict=True)
        )
        promised = with_assumptions(a), with_assumptions(b)
        contracts = ContractComparison(
            new_requirements(*promised, pairs),
            new_requirements(*promised[::-1], {other: name for name, other in pairs.items()}),
        )
        found = replace(found, contracts=contracts, costs=tuple(_changed_costs(a.inference, b.inference, pairs)))
    for side in (one, two):
        side.release_ir()
    return replace(
        found,
        verdict=verdict,
        outputs=tuple(results),
        obligations=obligations,
        first_difference=difference,
        runs=verification,
        witness=witness,
    )


def _given_to(
    names: Collection[str], others: Collection[str], dims: Mapping[str, object] | Iterable[str]
) -> Mapping[str, object] | list[str]:
    """The constraints on dims for one model: without those on names that only the other model has."""
    foreign = set(others) - set(names)
    if isinstance(dims, Mapping):
        return {name: value for name, value in dims.items() if name not in foreign}
    return [text for text in dims if text.partition("=")[0].strip() not in foreign]


def _inferred(
    file: ModelFile,
    dims: Mapping[str, object] | Iterable[str],
    inputs: Mapping[str, str] | Iterable[str],
    ranges: Mapping[str, object] | Iterable[str],
    rules: Sequence[RuleSet],
    progress: Progress,
) -> Inference:
    """The facts of a model without assumptions."""
    return infer(file, dims=dims, inputs=inputs, ranges=ranges, rules=rules, assume=False, progress=progress)


def _inferred_after(
    one: Inference,
    file: ModelFile,
    dims: Mapping[str, object] | Iterable[str],
    inputs: Mapping[str, str] | Iterable[str],
    ranges: Mapping[str, object] | Iterable[str],
    rules: Sequence[RuleSet],
    progress: Progress,
) -> Inference:
    """The facts of the second model without assumptions, in the runs in which the first one succeeds."""
    pairs = _pairs_by_name(one.inputs, [value.name for value in fed_inputs(file.proto)])
    if pairs is not None:
        bounded = with_bounds_of(one, file.proto, pairs, dims, inputs)
        try:
            return _inferred(file, bounded, inputs, ranges, rules, progress)
        except UsageError:  # bounds that the file records contradict them, or an argument is wrong
            pass
    return _inferred(file, dims, inputs, ranges, rules, progress)


def _pairs_by_name(names: Sequence[str], others: Sequence[str]) -> dict[str, str] | None:
    """Input of the first model -> input of the second: by name, or else by position; None if the numbers differ."""
    if set(names) == set(others):
        return {name: name for name in names}
    return dict(zip(names, others, strict=True)) if len(names) == len(others) else None


def _paired_inputs(one: Inference, two: Inference) -> tuple[dict[str, str], list[str], list[str]]:
    """Input of the first model -> input of the second; notes; and why no input fits both models."""
    names, others = list(one.inputs), list(two.inputs)
    pairs = _pairs_by_name(names, others)
    if pairs is not None:
        notes = [f"input {a} is called {b} in the second model" for a, b in pairs.items() if a != b]
        if not notes and names != others:
            notes = ["the inputs are in another order"]
    else:
        missing, added = set(names) - set(others), set(others) - set(names)
        text = [f"the second model lacks input {name}{_default(one, name)}" for name in names if name in missing]
        text += [f"the second model needs input {name}{_default(two, name)}" for name in others if name in added]
        return {}, [], text
    faults = []
    for name, other in pairs.items():
        mine, its = one[name], two[other]
        if isinstance(mine, SymbolicTensor) and isinstance(its, SymbolicTensor):
            if mine.dtype is not its.dtype:
                faults.append(f"input {other} is {its.dtype} in the second model, and {mine.dtype} in the first")
            elif mine.shape is not None and its.shape is not None and len(mine.shape) != len(its.shape):
                faults.append(f"input {other} is {its} in the second model, and {mine} in the first")
        elif _is_other_type(mine, its):
            faults.append(f"input {other} is {its} in the second model, and {mine} in the first")
    return pairs, notes, faults


def _is_other_type(mine: Value | None, its: Value | None) -> bool:
    """Whether two types differ in more than dims: in their kind, or in a type of elements."""
    if isinstance(mine, (SequenceType, OptionalType)) and type(mine) is type(its):
        return _is_other_type(mine.element, its.element)
    if isinstance(mine, MapType) and isinstance(its, MapType):
        return mine.key is not its.key or _is_other_type(mine.value, its.value)
    if isinstance(mine, (SymbolicTensor, SparseTensor)) and type(mine) is type(its):
        return mine.dtype is not its.dtype
    return type(mine) is not type(its)


def _default(inference: Inference, name: str) -> str:
    """A remark about an input with a default."""
    has_default = any(tensor.name == name for tensor in inference.model.proto.graph.initializer)
    return ", which has a default (--initializers-as-constants takes it for a constant)" if has_default else ""


def _paired_outputs(
    one: Inference, two: Inference, given: Mapping[str, str] | None
) -> tuple[dict[str, str], list[str]]:
    """Output of the first model -> output of the second, "" if there is none; and notes."""
    for name, other in (given or {}).items():
        for model, each, which in ((one, name, "first"), (two, other, "second")):
            if each not in model.outputs:
                raise UsageError(f"{each!r} is no output of the {which} model; it has {', '.join(model.outputs)}")
    pairs = dict(given or {})
    left = [name for name in one.outputs if name not in pairs]
    free = [name for name in two.outputs if name not in pairs.values()]
    if not set(left) & set(free) and len(left) == len(free):
        pairs.update(zip(left, free, strict=True))
    else:
        pairs.update((name, name if name in free else "") for name in left)
    ordered = {name: pairs[name] for name in one.outputs}
    notes = [f"output {a} is called {b} in the second model" for a, b in ordered.items() if b and a != b]
    notes += [f"the second model lacks output {name}" for name, other in ordered.items() if not other]
    notes += [f"the second model has another output {name}" for name in two.outputs if name not in ordered.values()]
    return ordered, notes


def _proved(prover: Prover, compared: Mapping[str, str]) -> tuple[dict[str, ProofClass], Proof]:
    """The outputs with equal terms, by the strongest class; and the weakest proof that was needed."""
    found: dict[str, ProofClass] = {}
    proof = prover.proof(ProofClass.SAME_CALLS, names_sizes=False)
    for kind in prover.classes:
        for names_sizes in (False, True):
            if names_sizes and not proof.has_unnamed_sizes:
                continue
            proof = prover.proof(kind, names_sizes=names_sizes)
            for name, other in compared.items():
                if name in found or not other or not proof.is_equal(name, other):
                    continue
                if not names_sizes or prover.is_empty_where_unnamed(proof, name, other):
                    found[name] = kind
            if len(found) == len(compared):
                return found, proof
    return found, proof


def _judged(
    prover: Prover, proof: Proof, name: str, other: str, kind: ProofClass | None, obligations: Sequence[str]
) -> OutputComparison:
    """The verdict on an output before any run."""
    if not other:
        return OutputComparison(name, other, DiffVerdict.DIFFERENT, None, "the second model lacks this output")
    mine, its = prover.first[name], prover.second[other]
    if isinstance(mine, SymbolicTensor) and isinstance(its, SymbolicTensor):
        if None not in (mine.dtype, its.dtype) and mine.dtype is not its.dtype:
            reason = f"is {its.dtype} in the second model, and {mine.dtype} in the first"
            return OutputComparison(name, other, DiffVerdict.DIFFERENT, None, reason)
        if mine.shape is not None and its.shape is not None and len(mine.shape) != len(its.shape):
            reason = f"has rank {len(its.shape)} in the second model, and {len(mine.shape)} in the first"
            return OutputComparison(name, other, DiffVerdict.DIFFERENT, None, reason)
    if kind is None:
        return OutputComparison(name, other, DiffVerdict.UNKNOWN, None, "the terms differ")
    if obligations:
        reason = f"equal wherever both models run, but {obligations[0]}"
        return OutputComparison(name, other, DiffVerdict.UNKNOWN, kind, reason)
    return OutputComparison(name, other, DiffVerdict.PROVED, kind)


def _run(
    one: Inference,
    two: Inference,
    compared: Mapping[str, str],
    pairs: Mapping[str, str],
    runs: int,
    feeds: Sequence[Mapping[str, Any]],
    rtol: float | None,
    atol: float | None,
    progress: Progress,
) -> Verification | None:
    """Runs of both models on the same inputs; None if the second model lacks an output.

    If they show no difference, one more at the smallest sizes, mostly 0: a Reshape to -1 may then have another result.
    """
    if not all(compared.values()):
        return None
    other = two.model
    if (one.inputs, one.outputs) != (two.inputs, two.outputs) or any(a != b for a, b in compared.items()):
        other = with_interface(two.model, pairs, compared)

    def verified(number: int, held: Sequence[Mapping[str, Any]]) -> Verification:
        return verify(
            one.model,
            other,
            number,
            inference=one,
            feeds=held,
            rtol=rtol,
            atol=atol,
            rewritten_name="the second model",
            progress=progress,
        )

    found = verified(runs, feeds)
    smallest = smallest_feeds(one) if runs and not found.mismatches else None
    if smallest is not None and (last := verified(0, [smallest])).mismatches:
        return last
    return found


def _after_runs(each: OutputComparison, verification: Verification) -> OutputComparison:
    """The verdict on an output after the runs; what the files declare of it is no result of a run."""
    wrong = [
        mismatch
        for mismatch in verification.mismatches
        if not mismatch.output or (mismatch.output == each.name and mismatch.binding is not None)
    ]
    if wrong and each.verdict is not DiffVerdict.DIFFERENT:
        return replace(each, verdict=DiffVerdict.DIFFERENT, reason=_reason(wrong[0]))
    if each.verdict is not DiffVerdict.UNKNOWN:
        return each
    if each.name in verification.compared_outputs and verification.with_elements:
        return replace(each, verdict=DiffVerdict.RUNS)
    skipped = dict(verification.skipped).get(each.name, verification.failure or "no run compared an element of it")
    return replace(each, reason=f"{each.reason}; not compared in runs: {skipped}")


def _reason(mismatch: Mismatch) -> str:
    """A difference without the name of the output."""
    place = f"at {shown_binding(mismatch.binding)}, " if mismatch.binding else ""
    if mismatch.index is None:
        return f"{place}{mismatch.reason}"
    return f"{place}element {list(mismatch.index)} is {mismatch.rewritten}, was {mismatch.original}"


# nodes and costs


def _changed_opsets(one: ModelFile, two: ModelFile) -> dict[str, tuple[int, int]]:
    mine, its = versions_of(one.proto.opset_import), versions_of(two.proto.opset_import)
    both = {domain: (mine.get(domain, 0), its.get(domain, 0)) for domain in sorted({*mine, *its})}
    return {domain or "ai.onnx": versions for domain, versions in both.items() if versions[0] != versions[1]}


def _operator_counts(one: Inference, two: Inference) -> OperatorCounts:
    mine, its = (Counter(qualified(n.domain, n.op_type) for n in side.ir.nodes) for side in (one, two))
    changed = {name: (mine[name], its[name]) for name in sorted({*mine, *its}) if mine[name] != its[name]}
    return OperatorCounts((mine.total(), its.total()), changed)


def _changed_costs(one: Inference, two: Inference, pairs: Mapping[str, str]) -> Iterator[CostChange]:
    """The costs in which the models differ; sizes of the second model's inputs are named as in the first."""
    names: dict[str, Dim] = {}
    for name, other in pairs.items():
        for dim, theirs in zip(shape_of(one, name), shape_of(two, other), strict=False):
            if isinstance(theirs, Expr) and theirs.is_symbol:
                names.setdefault(str(theirs), dim)
    mine, its = one.cost(), two.cost()
    for quantity, member in _QUANTITIES.items():
        try:
            a, b = getattr(mine, member), substitute(getattr(its, member), names)
        except (DimTooLarge, ZeroDivisionError):  # the peak is one of many formulas, or a size is fixed to 0
            continue
        if a != b:
            yield CostChange(quantity, a, b, mine.is_exact(quantity) and its.is_exact(quantity))
