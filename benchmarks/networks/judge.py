"""The process that converts: holds converted networks, run by onnxruntime, against what OpenVINO gave.

    python -m networks.judge FOLDER SECONDS NAME:VARIANT ...

Of each that `networks.worker` left in FOLDER and OpenVINO runs it writes NAME.VARIANT.onnx and
NAME.VARIANT.judged.json, which tells at which stage it failed, and why. It ends where a network takes
longer than SECONDS.
"""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime

import gather_infer
from gather_infer.errors import GatherInferError

TOLERANCE = 1e-4
"""As for `gather-infer convert --verify`: relative to what OpenVINO gives, or to 1 where that is less. Both compute in
float32 (2^-24 = 6e-8 for a rounding), and add in different orders; sums of some hundred terms and a few layers lose two
or three digits. Integers and booleans are equal, NaN is where NaN is.
What differs from OpenVINO and agrees with torch within the same tolerance is OpenVINO's error, and counted apart."""

Array: TypeAlias = npt.NDArray[Any]
LEVELS = onnxruntime.GraphOptimizationLevel


def main() -> None:
    folder, seconds = Path(sys.argv[1]), int(sys.argv[2])
    for task in sys.argv[3:]:
        path = folder / (task.replace(":", ".") + ".xml")
        signal.alarm(seconds)  # the default action ends the process, in native code too
        found = judged(path)
        signal.alarm(0)
        path.with_suffix(".judged.json").write_text(json.dumps(found))


def judged(path: Path) -> dict[str, Any]:
    """The stage at which a network failed, "" where none did, the reason, and the largest error."""
    try:
        converted = gather_infer.convert(path)
        converted.save(path.with_suffix(".onnx"))
    except GatherInferError as error:
        return {"failed": "refused", "reason": str(error)[:800], "error": None}
    except Exception as error:  # noqa: BLE001 (a defect of the converter is a line of the table)
        return {"failed": "exception", "reason": f"{type(error).__name__}: {error}"[:800], "error": None}
    try:
        onnx.checker.check_model(str(path.with_suffix(".onnx")), full_check=True)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError) as error:
        return {"failed": "checker", "reason": str(error)[:800], "error": None}
    largest = 0.0
    for level in (LEVELS.ORT_DISABLE_ALL, LEVELS.ORT_ENABLE_ALL):
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = level
        options.log_severity_level = 4
        options.add_session_config_entry("session.qdq_matmulnbits_accuracy_level", "1")  # else activations are rounded
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        try:
            session = onnxruntime.InferenceSession(
                path.with_suffix(".onnx"), options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:  # noqa: BLE001 (onnxruntime's own have no common base)
            return {"failed": "does not load", "reason": str(error)[:800], "error": None}
        for recorded in sorted(path.parent.glob(f"{path.stem}.[0-9].npz")):
            with np.load(recorded) as held:
                inputs, wanted, by_torch = (numbered(held, letter) for letter in "iot")
            feeds = dict(zip([i.name for i in session.get_inputs()], inputs, strict=True))
            try:
                found = session.run(None, feeds)
            except Exception as error:  # noqa: BLE001 (the same)
                return {"failed": "does not run", "reason": f"{recorded.name}: {error}"[:800], "error": None}
            for k, (ours, theirs) in enumerate(zip(found, wanted, strict=True)):
                fault, apart = compared(np.asarray(ours), theirs)
                if fault:
                    as_torch = k < len(by_torch) and not compared(np.asarray(ours), by_torch[k])[0]
                    failed = "OpenVINO differs from torch" if as_torch else "differs"
                    return {"failed": failed, "reason": f"{recorded.name}, output {k}: {fault}", "error": apart}
                largest = max(largest, apart)
    return {"failed": "", "reason": "", "error": largest}


def numbered(held: Any, letter: str) -> list[Array]:
    return [held[f"{letter}{k}"] for k in range(len(held.files)) if f"{letter}{k}" in held.files]


def compared(ours: Array, theirs: Array) -> tuple[str, float]:
    """How two arrays differ, "" where they agree, and by how much."""
    if ours.dtype != theirs.dtype or ours.shape != theirs.shape:
        return f"{ours.dtype}{list(ours.shape)}, not {theirs.dtype}{list(theirs.shape)}", 0.0
    if theirs.dtype.kind != "f":
        wrong = int((ours != theirs).sum())
        return (f"{wrong} of {theirs.size} differ" if wrong else ""), 0.0
    a, b = ours.astype(np.float64), theirs.astype(np.float64)
    with np.errstate(invalid="ignore"):
        gaps = np.abs(a - b) / np.maximum(1, np.abs(b))
    gaps = np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0.0, np.nan_to_num(gaps, nan=np.inf))
    worst = float(gaps.max(initial=0.0))
    if worst <= TOLERANCE:
        return "", worst
    at = np.unravel_index(int(gaps.argmax()), gaps.shape)
    wrong = int((gaps > TOLERANCE).sum())
    return f"at {[int(i) for i in at]} {ours[at]}, not {theirs[at]}; {wrong} of {a.size} differ", worst


if __name__ == "__main__":
    main()
