"""A verification as text and JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gather_infer.report.forms import PLAIN, View
from gather_infer.report.json import SCHEMA, Json
from gather_infer.report.layout import count

if TYPE_CHECKING:
    from gather_infer.verification.result import Mismatch, Run, Verification

MAX_SHOWN = 4
"""Bindings and mismatches that are shown, unless all are wanted."""


def verification_text(found: Verification, view: View = PLAIN) -> list[str]:
    """`verified   2 bindings, 9 outputs, bit-identical    batch=2 seq=3 | batch=5 seq=7`, or what went wrong."""
    if found.ok:
        how = "bit-identical" if found.tolerance is None else f"within {found.tolerance:g}"
        if found.error is not None:
            how += f", largest error {found.error:.1g}"
        lines = [f"verified   {_runs(found)}, {count(len(found.compared), 'output')}, {how}{_bindings(found, view)}"]
    else:
        what = found.fault or count(len(found.mismatches), "difference")
        lines = [f"verification failed: {what}"]
        shown = found.mismatches if view.verbose else found.mismatches[:MAX_SHOWN]
        lines += [f"  {mismatch}" for mismatch in shown]
        if len(shown) < len(found.mismatches):
            lines.append(f"  ... {len(found.mismatches) - len(shown)} more: --verbose")
    if found.first:
        lines.append(f"  first to differ: {found.first}")
    lines += [f"  not compared: {name}, {reason}" for name, reason in found.skipped]
    if found.redrawn and (view.verbose or len(found.runs) < found.wanted):
        lines.append(f"  redrawn: {found.redrawn}, the model itself fails there: {found.why_redrawn}")
    if found.runtime and (view.verbose or found.runtime != "onnxruntime"):
        lines.append(f"  run by {found.runtime} {found.version}")
    return lines


def _runs(found: Verification) -> str:
    noun = "binding" if any(run.binding for run in found.runs) else "run"
    if len(found.runs) < found.wanted:
        return f"{len(found.runs)} of {count(found.wanted, noun)}"
    return count(len(found.runs), noun)


def _bindings(found: Verification, view: View) -> str:
    """The bindings, each once, a few of them."""
    texts = list(dict.fromkeys(str(run) for run in found.runs if run.binding))
    shown = texts if view.verbose else texts[:MAX_SHOWN]
    more = ["..."] if len(shown) < len(texts) else []
    return "    " + " | ".join([*shown, *more]) if shown else ""


def verification_json(found: Verification) -> dict[str, Json]:
    """An object with `schema`."""
    return {"schema": SCHEMA, **verification_members(found)}


def verification_members(found: Verification) -> dict[str, Json]:
    """The same as a part of another object."""
    return {
        "ok": found.ok,
        "fault": found.fault or None,
        "wanted": found.wanted,
        "runs": [_run_json(run) for run in found.runs],
        "redrawn": found.redrawn,
        "why_redrawn": found.why_redrawn if found.redrawn else None,
        "compared": [*found.compared],
        "skipped": [{"output": name, "reason": reason} for name, reason in found.skipped],
        "mismatches": [_mismatch_json(mismatch) for mismatch in found.mismatches],
        "runtime": found.runtime or None,
        "version": found.version or None,
        "tolerance": found.tolerance,
        "error": found.error,
        "first": found.first or None,
    }


def _run_json(run: Run) -> Json:
    return {"binding": dict(run.binding), "numbers": run.numbers}


def _mismatch_json(mismatch: Mismatch) -> Json:
    return {
        "output": mismatch.output or None,
        "reason": mismatch.reason or None,
        "binding": None if mismatch.binding is None else dict(mismatch.binding),
        "index": None if mismatch.index is None else list(mismatch.index),
        "original": mismatch.original or None,
        "rewritten": mismatch.rewritten or None,
    }
