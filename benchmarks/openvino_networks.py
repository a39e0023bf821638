"""PyTorch networks exported to OpenVINO and converted back: all that OpenVINO runs must load and agree.

    python benchmarks/openvino_networks.py --work DIR [--python OTHER/bin/python] [--reuse] [--only GLOB ...]

Networks of random weights, ours (benchmarks/networks) and tiny configurations of the package transformers, are each
exported twice by `ov.convert_model` and `ov.save_model`: with static dims and weights in f32, and with dynamic dims and
weights in f16. `gather_infer.convert` makes ONNX of the IR; it has to pass onnx's checker, load in onnxruntime with its
optimizations on and off, and give what OpenVINO's CPU plugin gives in f32, at one binding of the dims or, dynamic, at
up to three. The tolerance and its reason are in benchmarks/networks/judge.py.

Export needs torch, transformers and openvino (`pip install torch==2.13.0 transformers openvino==2026.4.1`), conversion
needs onnxruntime: `--python` names another interpreter for the export. Each is done by a child with a time limit, which
is started anew when a network ends it. `--reuse` keeps the exports that DIR has and repeats only the conversion.

Counted are networks, static and dynamic ones apart. Where the export or OpenVINO itself fails nothing is judged.
Exit code 1: a network that OpenVINO runs was refused, does not load or differs.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
SECONDS = 120
"""For a network, in each of the two processes."""
CHUNK = 40
"""Networks of a process, so that its memory stays small."""
VARIANTS = ("static", "dynamic")


def run(python: str, module: str, suffix: str, folder: Path, tasks: Sequence[str]) -> dict[str, Any]:
    """The result that a process wrote for each task; a missing one ended the process, or exceeded its time limit."""
    left = list(tasks)
    while left:
        chunk = left[:CHUNK]
        words = [python, "-m", module, str(folder), str(SECONDS), *chunk]
        done = subprocess.run(words, cwd=HERE, env=environment(), capture_output=True, text=True, check=False)
        missing = [task for task in chunk if not written(folder, task, suffix).exists()]
        if missing == chunk and done.returncode == 1:
            raise SystemExit(f"{' '.join(words[:3])} does not start:\n{done.stderr[-2000:]}")
        if missing and missing[0] != chunk[0]:
            left = left[chunk.index(missing[0]) :]  # again, first: what ran before may have harmed it
        elif missing:
            reason = f"the process ended with {done.returncode} or took longer than {SECONDS} s"
            path = written(folder, missing[0], suffix)
            found = {"exported": False, "failed": "exception", "error": None}
            with suppress(FileNotFoundError):
                found |= json.loads(path.with_suffix(".part").read_text())
            path.write_text(json.dumps(found | {"reason": reason}))
            left = left[1:]
        else:
            left = left[CHUNK:]
    return {task: json.loads(written(folder, task, suffix).read_text()) for task in tasks}


def environment() -> dict[str, str]:
    """The children's: the repository is importable, as an installed package is."""
    paths = [str(HERE.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    return os.environ | {"PYTHONPATH": os.pathsep.join(paths), "OMP_NUM_THREADS": "1"}


def written(folder: Path, task: str, suffix: str) -> Path:
    return folder / f"{task.replace(':', '.')}.{suffix}.json"


def listed(python: str) -> dict[str, bool]:
    """The names of all networks, and whether each is a mixture of experts."""
    code = "from networks.table import NETWORKS as n; import json; print(json.dumps({k: n[k].experts for k in n}))"
    words = [python, "-c", code]
    done = subprocess.run(words, cwd=HERE, env=environment(), stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, bool] = json.loads(done.stdout)
    return found


def measure(options: argparse.Namespace, folder: Path) -> list[dict[str, Any]]:
    """A row for each network and variant."""
    experts = listed(options.python)
    names = [name for name in experts if any(fnmatch(name, one) for one in options.only)]
    tasks = [f"{name}:{variant}" for variant in options.variants for name in names]
    stale = [task for task in tasks if not (options.reuse and written(folder, task, "exported").exists())]
    for task in stale:
        for path in folder.glob(f"{task.replace(':', '.')}.*"):
            path.unlink()
    run(options.python, "networks.worker", "exported", folder, stale)
    exported = {task: json.loads(written(folder, task, "exported").read_text()) for task in tasks}
    run_by_openvino = [task for task in tasks if exported[task].get("ran")]
    for task in run_by_openvino:
        with suppress(FileNotFoundError):
            written(folder, task, "judged").unlink()
    judged = run(sys.executable, "networks.judge", "judged", folder, run_by_openvino)
    rows = []
    for task in tasks:
        name, variant = task.split(":")
        found, verdict = exported[task], judged.get(task)
        rows.append(
            {
                "network": name,
                "variant": variant,
                "experts": experts[name],
                "exported": found["exported"],
                "runs": len(found.get("ran", ())),
                "bindings": found.get("of", 0),
                "unsteady": len(found.get("unsteady", ())),
                "failed": verdict["failed"] if verdict else None,
                "error": verdict["error"] if verdict else None,
                "reason": verdict["reason"] if verdict else found["reason"],
            }
        )
    return rows


NOT_OURS = "OpenVINO differs from torch"
"""And what was converted agrees with torch."""
STAGES = ("refused", "exception", "checker", "does not load", "does not run", "differs", NOT_OURS)


def table(rows: Sequence[dict[str, Any]]) -> None:
    print(
        f"{'network':32}{'variant':9}{'exported':>9}{'OpenVINO':>9}{'converts':>9}{'loads':>6}{'agrees':>7}{'error':>9}"
    )
    for row in rows:
        failed = row["failed"]
        stage = STAGES.index(failed) if failed else len(STAGES)
        marks = ["-"] * 3 if failed is None else ["yes" if stage >= least else "no" for least in (2, 4, len(STAGES))]
        runs = f"{row['runs']} of {row['bindings']}" if row["exported"] else "-"
        error = "" if row["error"] is None else f"{row['error']:.1e}"
        print(
            f"{row['network']:32}{row['variant']:9}{'yes' if row['exported'] else 'no':>9}{runs:>9}"
            f"{marks[0]:>9}{marks[1]:>6}{marks[2]:>7}{error:>9}"
        )
    for title, stages in (("does not load and agree", STAGES), ("not exported, or not run by OpenVINO", (None,))):
        print(f"\n{title}:")
        for row in rows:
            if row["failed"] in stages:
                verdict = row["failed"] or ("not run" if row["exported"] else "not exported")
                print(f"  {row['network']} ({row['variant']}): {verdict}: {' '.join(row['reason'].split())[:300]}")
    print()
    for variant in (*VARIANTS, "all"):
        chosen = [row for row in rows if variant in (row["variant"], "all")]
        if chosen:
            print(f"{variant}: {totals(chosen)}")
    print(f"mixtures of experts: {totals([row for row in rows if row['experts']])}")


def totals(rows: Sequence[dict[str, Any]]) -> str:
    ran = [row for row in rows if row["failed"] is not None]
    stages = Counter(row["failed"] for row in ran)
    parts = [f"{stages[stage]} {stage}" for stage in STAGES if stages[stage]]
    errors = [row["error"] for row in ran if row["failed"] == "" and row["error"] is not None]
    return (
        f"{len(rows)} networks, {sum(row['exported'] for row in rows)} exported, {len(ran)} run by OpenVINO: "
        f"{stages['']} load and agree (error {max(errors, default=0.0):.1e} at most)"
        + "".join(f", {part}" for part in parts)
        + f"; OpenVINO contradicts itself on {sum(row['unsteady'] > 0 for row in rows)}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, help="a folder for the IRs and the converted files, some 200 MB")
    parser.add_argument("--reuse", action="store_true", help="keep the exports that the folder has")
    parser.add_argument("--python", default=sys.executable, help="the interpreter that has torch")
    parser.add_argument("--only", nargs="*", default=["*"], help="patterns of names")
    parser.add_argument("--variants", nargs="*", choices=VARIANTS, default=VARIANTS)
    parser.add_argument("--format", choices=["text", "json"], default="text")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder: Path = options.work or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        rows = measure(options, folder.resolve())
    if options.format == "json":
        print(json.dumps(rows, indent=1))
    else:
        table(rows)
    sys.exit(any(row["failed"] not in (None, "", NOT_OURS) for row in rows))


if __name__ == "__main__":
    main()
