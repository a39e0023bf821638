"""Verifications as text and JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gather_infer.report.json import SCHEMA, Json
from gather_infer.report.layout import GLUE, count, fitted, printable
from gather_infer.report.output_formats import PLAIN, View

if TYPE_CHECKING:
    from gather_infer.verification.result import Mismatch, Verification, VerificationRun

WIDTH = 120
"""Maximum characters of a line if the view has no width."""

MAX_SHOWN = 4
"""Maximal number of printed bindings, of mismatches and of bodies, unless verbose."""


def verification_text(found: Verification, view: View = PLAIN) -> list[str]:
    """The lines of a verification, unwrapped; for a failure, the differences.

    `verified   2 bindings, 9 outputs, bit-identical    batch=2 seq=3 | batch=5 seq=7`
    """
    return [line.replace(GLUE, " ") for line in _lines(found, view)]


def verified_lines(found: Verification, view: View) -> list[str]:
    """`verification_text` as a part of a report, indented and wrapped."""
    lines = [f"  {line}" for line in _lines(found, view)]
    return [part for line in lines for part in fitted(line, view.width or WIDTH, _continuation_indent(line))]


def _continuation_indent(line: str) -> str:
    """The indentation of continuation lines of `line`: two more than its own."""
    return " " * (len(line) - len(line.lstrip()) + 2)


def _lines(found: Verification, view: View) -> list[str]:
    if found.ok and not found.compared_outputs:
        lines = [f"nothing to verify: every output depends on random numbers ({_runs(found)})"]
    elif found.ok:
        outputs = count(len(found.compared_outputs), "output")
        lines = [f"verified   {_runs(found)}, {outputs}, {_how(found)}{_bindings(found, view)}"]
        if found.with_elements < len(found.runs):
            lines.append(f"  runs with non-empty outputs: {found.with_elements} of {len(found.runs)}")
    else:
        failure = found.failure or count(len(found.mismatches), "difference")
        lines = [f"verification failed: {failure}"]
        shown = found.mismatches if view.verbose else found.mismatches[:MAX_SHOWN]
        lines += [f"  {mismatch}" for mismatch in shown]
        if len(shown) < len(found.mismatches):
            lines.append(f"  ... {len(found.mismatches) - len(shown)} more: --verbose")
    if found.first_difference:
        lines.append(f"  first to differ: {found.first_difference}")
    lines += _untaken_bodies(found, view)
    lines += [f"  not compared: {name}, {reason}" for name, reason in found.skipped]
    lines += [f"  {note}" for note in found.notes]
    if found.redraws and (view.verbose or len(found.runs) < found.requested_runs):
        lines.append(f"  repeated draws: {found.redraws}, last reason: {found.redraw_reason}")
    if (
        found.ok
        and found.compared_outputs
        and found.rtol is None
        and not found.summation_error
        and found.runtime == "onnxruntime"
    ):
        lines.append(f"  onnxruntime {found.version}: same kernels, optimizer and weight packing disabled")
    elif found.runtime and (view.verbose or found.runtime != "onnxruntime"):
        lines.append(f"  run by {found.runtime} {found.version}")
    return lines


def _untaken_bodies(found: Verification, view: View) -> list[str]:
    """A line for each body of an If or loop that no run covered; empty if the verification failed."""
    if not found.ok:
        return []
    shown = found.uncovered if view.verbose else found.uncovered[:MAX_SHOWN]
    lines = []
    for label in shown:
        node, _, body = label.rpartition("/")
        lines.append(f"  no run {'took' if body.endswith('_branch') else 'entered'} {body} of {printable(node)}")
    if len(shown) < len(found.uncovered):
        lines.append(f"  ... {len(found.uncovered) - len(shown)} more that no run reached: --verbose")
    return lines


def _how(found: Verification) -> str:
    """A text about the criterion by which two results are equal, and about the largest error."""
    if found.summation_error:
        how = f"within {found.summation_error:.1g} of the largest element, the summation error of {found.runtime}"
        if found.rtol or found.atol:
            how += f", or {_tolerance(found)}"
    elif found.rtol is not None:
        how = f"within {_tolerance(found)}"
    else:
        how = "bit-identical"
    return how if found.max_error is None else f"{how}, largest error {found.max_error:.1g}"


def _tolerance(found: Verification) -> str:
    parts = [f"{found.atol:g}"] if found.atol or not found.rtol else []
    parts += [f"{found.rtol:g} * |original|"] if found.rtol else []
    return " + ".join(parts)


def _runs(found: Verification) -> str:
    """The number of runs as text: `8 bindings`, `8 runs at 5 bindings` if sizes repeat, `6 of 8 bindings`."""
    is_sized = any(run.binding for run in found.runs)
    is_repeated = is_sized and found.bindings < len(found.runs)
    noun = "binding" if is_sized and not is_repeated else "run"
    steps = max((run.steps for run in found.runs), default=1)
    more = f" of {steps} steps" if steps > 1 else ""
    if is_repeated:
        more += f" at {count(found.bindings, 'binding')}"
    if len(found.runs) < found.requested_runs:
        return f"{len(found.runs)} of {count(found.requested_runs, noun)}{more}"
    return f"{count(len(found.runs), noun)}{more}"


def _bindings(found: Verification, view: View) -> str:
    """The first distinct bindings as text, all if verbose; empty if no run binds symbols."""
    texts = list(dict.fromkeys(str(run).replace(" ", GLUE) for run in found.runs if run.binding))
    shown = texts if view.verbose else texts[:MAX_SHOWN]
    more = ["..."] if len(shown) < len(texts) else []
    return "    " + " | ".join([*shown, *more]) if shown else ""


def verification_json(found: Verification) -> dict[str, Json]:
    """The verification as an object with `schema`."""
    return {"schema": SCHEMA, **verification_members(found)}


def verification_members(found: Verification) -> dict[str, Json]:
    """The members of the JSON object of a verification, without `schema`."""
    return {
        "ok": found.ok,
        "failure": found.failure or None,
        "requested_runs": found.requested_runs,
        "runs": [_run_json(run) for run in found.runs],
        "redraws": found.redraws,
        "redraw_reason": found.redraw_reason if found.redraws else None,
        "compared_outputs": [*found.compared_outputs],
        "skipped": [{"output": name, "reason": reason} for name, reason in found.skipped],
        "mismatches": [_mismatch_json(mismatch) for mismatch in found.mismatches],
        "runtime": found.runtime or None,
        "version": found.version or None,
        "rtol": found.rtol,
        "atol": found.atol,
        "max_error": found.max_error,
        "summation_error": found.summation_error,
        "first_difference": found.first_difference or None,
        "uncovered": [*found.uncovered],
        "notes": [*found.notes],
    }


def _run_json(run: VerificationRun) -> Json:
    return {
        "binding": dict(run.binding),
        "float_inputs": run.float_inputs,
        "has_elements": run.has_elements,
        "steps": run.steps,
    }


def _mismatch_json(mismatch: Mismatch) -> Json:
    return {
        "output": mismatch.output or None,
        "reason": mismatch.reason or None,
        "binding": None if mismatch.binding is None else dict(mismatch.binding),
        "index": None if mismatch.index is None else list(mismatch.index),
        "original": mismatch.original or None,
        "rewritten": mismatch.rewritten or None,
    }
