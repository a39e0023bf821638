"""Verification of two models on the same inputs: the driver behind `--verify N`."""

from __future__ import annotations

import pickle
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from onnx import ModelProto

from gather_infer.errors import UsageError
from gather_infer.inference import Inference, infer
from gather_infer.model import ModelFile
from gather_infer.model.model_loading import ModelLike, to_model_file
from gather_infer.progress import Progress, no_progress
from gather_infer.runtimes.process import RuntimeProcess
from gather_infer.runtimes.worker import ONNXRUNTIME, OPENVINO, REFERENCE
from gather_infer.verification.bisection import Bisection, described
from gather_infer.verification.body_coverage import BodyCoverage, body_coverage_of
from gather_infer.verification.feeds import checked_feeds
from gather_infer.verification.files import on_disk
from gather_infer.verification.input_draws import InputDraws, is_always_empty
from gather_infer.verification.model_chain import ChainProcess, ModelChain
from gather_infer.verification.noise import noise_of
from gather_infer.verification.nondeterminism import nondeterministic_outputs, unspecified_outputs
from gather_infer.verification.output_comparison import interface_differences
from gather_infer.verification.paired_runs import PairedRuns
from gather_infer.verification.result import Mismatch, Verification
from gather_infer.verification.result_builder import VerificationBuilder
from gather_infer.verification.rounding import ROUNDED, has_halves, rounded
from gather_infer.verification.state_io import StateIO
from gather_infer.verification.tolerance import Tolerance

DEFAULT_TIMEOUT: Final = 60.0
"""Time limit in seconds for loading a model, and for each run of it."""

UNITS: Final = 2
"""Allowed difference between OpenVINO and onnxruntime in units in the last place.

Both round to half precision at the end.
"""


def verify(
    original: ModelLike,
    rewritten: ModelLike | ModelChain,
    runs: int,
    *,
    inference: Inference,
    feeds: Sequence[Mapping[str, Any]] = (),
    seed: int = 0,
    rtol: float | None = None,
    atol: float | None = None,
    timeout: float = DEFAULT_TIMEOUT,
    rewritten_name: str = "the rewritten model",
    progress: Progress = no_progress,
) -> Verification:
    """Run both models on inputs of the caller and on `runs` random ones, and compare their outputs.

    original    the model before, preferably as the ModelFile that it was read as
    rewritten   the model after. A ModelProto may have the elided weights and external data of the original. A
                ModelChain stands for the same model in two parts, so neither may fail where the other runs
    inference   the inference of the original, with the declared dims: sizes are drawn within these
    feeds       inputs by name, an array each, which are run before the random ones
    seed        the same seed draws the same inputs, >= 0
    rtol, atol  floats may differ by atol + rtol * |original|; without both every bit is compared
    timeout     seconds for loading a model, and for each run of it; random runs get less once the original has run
    rewritten_name   what messages call it
    progress    receives a function that returns the current activity, from any thread

    Each model runs in a process of its own, in onnxruntime without graph optimization and weight prepacking, so that
    the same kernels give the same bits. Half precision values are rounded after each node. Where onnxruntime is not
    installed or does not load the original, both run in onnx's reference evaluator, whose sums may differ by their
    order. Outputs that depend on random numbers are named, and their elements not compared. An IR runs in OpenVINO, for
    three steps if it has state; where outputs differ, bisection finds the first layer that does. Runtime failures are
    part of the result. Only temporary files are written: next to the original when its weights are external.

    Raises UsageError for numbers out of range, for feeds that are not inputs of the model, and for an IR where OpenVINO
    or onnxruntime is not installed. Raises ModelReadError when a model or its weights cannot be read, ModelWriteError
    when temporary files cannot be written.

        >>> result = gather_infer.optimize("fixtures/bert-torchscript.onnx")
        >>> found = gather_infer.verification.verify(result.source, result.proto, 2, inference=result.inference)
        >>> found.ok, found.with_elements
        (True, 2)
    """
    tolerance = _tolerance(rtol, atol)
    _check(runs, len(feeds), seed, timeout)
    checked = [checked_feeds(inference, one) for one in feeds]
    before = to_model_file(original)
    chain = rewritten if isinstance(rewritten, ModelChain) else None
    parts = _parts(before, rewritten)
    proto = before.proto if chain is not None else parts[0][1]
    found = VerificationBuilder(runs, tolerance)
    is_onnx = not before.foreign_format
    found.mismatches += interface_differences(before.proto, proto, may_add=not is_onnx)
    converted = None if is_onnx else infer(ModelFile.from_proto(proto, before.base_dir))
    states = None if is_onnx else StateIO(inference, proto)
    watch = body_coverage_of(inference)
    draws = InputDraws(inference, proto, seed, states, converted, watch)
    if draws.failure and runs:
        return found.result(draws.failure)
    found.is_empty = all(is_always_empty(inference, value.name) for value in before.proto.graph.output)
    with tempfile.TemporaryDirectory(prefix="gather-infer-", ignore_cleanup_errors=True) as name, ExitStack() as stack:
        folder = Path(name)
        paths = _written(before, parts, inference if is_onnx else None, folder, stack, found)
        runtimes = (ONNXRUNTIME, REFERENCE) if is_onnx else (OPENVINO,)
        watched = _instrumented(before, inference, watch, folder, stack)
        loaded = _load_original([*watched, paths[0]], folder / "original", runtimes, stack, found, timeout)
        if loaded is None:
            return found.result()
        watch.is_enabled = bool(watched) and loaded.model == watched[0]
        if watched and not watch.is_enabled:
            watch.unknown_reason = f"{loaded.runtime} does not load the instrumented copy"
        runtime = loaded.runtime if is_onnx else ONNXRUNTIME
        other: RuntimeProcess | ChainProcess
        if chain is not None:
            other = ChainProcess(chain, runtime, folder, timeout, stack)
            failure = other.load(paths[1:])
        else:
            other = stack.enter_context(RuntimeProcess(runtime, folder / "rewritten", timeout))
            failure = other.load(paths[1])
        if failure is not None:
            if failure.is_not_installed and not is_onnx:
                raise UsageError("a conversion is run by onnxruntime, which is not installed: pip install onnxruntime")
            found.mismatches.append(Mismatch("", f"{rewritten_name} is not loaded: {failure}"))
            return found.result()
        names = [o.name for o in before.proto.graph.output], [o.name for o in proto.graph.output]
        if chain is not None:
            names = names[0], [*chain.outputs]
        if states is not None:  # OpenVINO returns assigned state as well
            names[0].extend(states.assigned)
        within = _tolerance_by_binding(tolerance, inference, runtime == REFERENCE, converted is not None)
        halving = None
        if isinstance(other, RuntimeProcess) and not is_onnx:
            halving = Bisection(before, proto, loaded, other, folder / "feeds.pickle", folder, tolerance or Tolerance())
        comparing = PairedRuns(
            draws,
            loaded,
            other,
            names,
            rewritten_name,
            folder / "feeds.pickle",
            found,
            nondeterministic_outputs(inference if converted is None else converted),
            unspecified_outputs(inference),
            runtime == REFERENCE or not is_onnx,
            within,
            watch,
            progress,
            halving,
            is_symmetric=chain is not None,
        )
        comparing.run([(f"feeds {number}", one) for number, one in enumerate(checked, 1)])
        if comparing.differing_feeds is not None:
            found.differing_feeds = pickle.loads(comparing.differing_feeds)
        differs = any(mismatch.output for mismatch in found.mismatches) and not found.first_difference
        if halving is not None and comparing.differing_feeds is not None and differs:
            comparing.feeds.write_bytes(comparing.differing_feeds)
            first = halving.first_difference()
            found.first_difference = "" if first is None else described(*first)
    found.uncovered = watch.uncovered()
    if watch.bodies and watch.unknown_reason:
        found.note(f"which branches and loop bodies the runs entered is not known: {watch.unknown_reason}")
    return found.result()


def _tolerance(rtol: float | None, atol: float | None) -> Tolerance | None:
    for name, value in (("rtol", rtol), ("atol", atol)):
        if value is not None and not 0 <= value < float("inf"):
            raise UsageError(f"{name} must be >= 0 and finite, is {value}")
    return None if rtol is None and atol is None else Tolerance(rtol or 0.0, atol or 0.0)


def _check(runs: int, given: int, seed: int, timeout: float) -> None:
    """Validate the numbers of the caller. Raises UsageError for a number out of range."""
    if runs < (0 if given else 1):
        raise UsageError(f"the number of runs must be >= {0 if given else 1}, is {runs}")
    if seed < 0:
        raise UsageError(f"the seed must be >= 0, is {seed}")
    if not timeout > 0:
        raise UsageError(f"the time limit must be > 0 s, is {timeout}")


def _parts(before: ModelFile, rewritten: ModelLike | ModelChain) -> list[tuple[ModelFile, ModelProto]]:
    """The rewritten model, or the two of a chain: the message, and the file that has its large weights."""
    if isinstance(rewritten, ModelProto):
        return [(before, rewritten)]
    files = rewritten.files if isinstance(rewritten, ModelChain) else (to_model_file(rewritten),)
    return [(file, file.proto) for file in files]


def _written(
    before: ModelFile,
    parts: Sequence[tuple[ModelFile, ModelProto]],
    inference: Inference | None,
    folder: Path,
    stack: ExitStack,
    found: VerificationBuilder,
) -> list[Path]:
    """The paths of all models, on disk until `stack` is closed; values of half precision are rounded after each node.

    inference   the inference of the original; None for an IR, whose values are not rounded
    """
    pairs = [(before, before.proto), *parts]
    if inference is not None and has_halves(inference):
        found.note(ROUNDED)
        made = [(file, ModelFile.from_proto(proto, file.base_dir)) for file, proto in parts]
        pairs = [(before, rounded(before, inference)), *((file, rounded(each, infer(each))) for file, each in made)]
    names = ["original", *(f"rewritten{number or ''}" for number, _ in enumerate(parts))]
    return [
        stack.enter_context(on_disk(file, proto, folder / name))
        for (file, proto), name in zip(pairs, names, strict=True)
    ]


def _instrumented(
    model: ModelFile, inference: Inference, coverage: BodyCoverage, folder: Path, stack: ExitStack
) -> list[Path]:
    """The path of the instrumented copy of the original, which reports the bodies that a run enters.

    Empty if there is no copy.
    """
    if coverage.proto is None:
        return []
    copy = ModelFile.from_proto(coverage.proto, model.base_dir)
    proto = rounded(copy, infer(copy)) if has_halves(inference) else coverage.proto
    return [stack.enter_context(on_disk(model, proto, folder / "watched"))]


def _tolerance_by_binding(
    tolerance: Tolerance | None, inference: Inference, is_noisy: bool, is_converted: bool
) -> Callable[[Mapping[str, int]], Tolerance | None]:
    """The allowed difference of floats, as a function of the sizes of a run."""

    def found(binding: Mapping[str, int]) -> Tolerance | None:
        noise = noise_of(inference, binding) if is_noisy else 0.0
        if noise:
            return replace(tolerance or Tolerance(), noise=noise)
        return replace(tolerance, units=UNITS) if is_converted and tolerance is not None else tolerance

    return found


def _load_original(
    paths: Sequence[Path],
    folder: Path,
    runtimes: Sequence[str],
    stack: ExitStack,
    found: VerificationBuilder,
    timeout: float,
) -> RuntimeProcess | None:
    """The first of `runtimes` that loads the original; None, with the failure recorded in `found`, if none does.

    paths   files to try, in order: equivalent copies of the original, then the original
    """
    for runtime in runtimes:
        child = stack.enter_context(RuntimeProcess(runtime, folder, timeout))
        failure = None
        for path in paths:
            failure = child.load(path)
            if failure is None:
                if found.failure:
                    found.note(found.failure)
                found.runtime, found.version, found.failure = runtime, child.version, ""
                return child
            if failure.is_not_installed:
                break
        assert failure is not None, "there is a model to load"
        if failure.is_not_installed and runtime == OPENVINO:
            raise UsageError("the conversion is verified by OpenVINO, which is not installed: pip install openvino")
        if failure.is_not_installed:
            found.note(f"{runtime} is not installed")
        elif not found.failure:
            found.failure = f"{runtime} does not load the original: {failure}"
    return None
