"""How often `--verify` is wrong: `python -m tests.oracle.verification_score`.

Right rewrites and conversions that it calls wrong, wrong ones that it does not notice, and verifications that compared
no element. `--networks DIR` adds the IRs of a folder; `--runs` is the N of `--verify N`.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from gather_infer.verification import Verification
from gather_infer.verification.input_draws import is_always_empty
from tests.oracle.right_rewrites import Case, families
from tests.oracle.wrong_rewrites import wrong_cases


@dataclass(slots=True)
class Score:
    """Of a family of rewrites.

    alarms    those in which a difference was found
    refused   those of which nothing could be said, with the reason
    vacuous   those that passed and compared no element, though the model has some
    """

    cases: int = 0
    runs: int = 0
    with_elements: int = 0
    alarms: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    vacuous: list[str] = field(default_factory=list)

    def add(self, case: Case, found: Verification) -> None:
        name = case.name
        self.cases += 1
        self.runs += len(found.runs)
        self.with_elements += found.with_elements
        if found.mismatches:
            self.alarms.append(f"{name}: {found.mismatches[0]}")
        elif found.failure:
            self.refused.append(f"{name}: {found.failure}")
        elif not found.with_elements and not all(
            is_always_empty(case.inference, one) for one in found.compared_outputs
        ):
            self.vacuous.append(name)

    def __str__(self) -> str:
        return (
            f"{self.cases:4} rewrites, {len(self.alarms)} found wrong, {len(self.refused)} not run, "
            f"{len(self.vacuous)} without elements; {self.runs} runs, {self.with_elements} with elements"
        )


def scored(cases: Iterable[Case], runs: int) -> Score:
    found = Score()
    for case in cases:
        found.add(case, case.verify(runs))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=8)
    parser.add_argument("--graphs", type=int, default=330, help="random graphs, of which some do not load")
    parser.add_argument("--layers", type=int, default=150, help="small models of OpenVINO")
    parser.add_argument("--networks", type=Path, help="a folder of IRs")
    parser.add_argument("--every", type=int, default=1, help="take every n-th of them")
    parser.add_argument("--right-runs", type=int, default=8, help="as --runs, of right rewrites")
    parser.add_argument("--only", default="", help="families whose names begin so, `wrong` among them")
    told = parser.parse_args()
    networks = sorted(told.networks.glob("*.xml"))[:: told.every] if told.networks else []
    total = Score()
    for name, cases in families(told.graphs, told.layers, networks):
        if not name.startswith(told.only):
            continue
        found = scored(cases, told.right_runs)
        print(f"{name:28} {found}", flush=True)
        for kind in ("alarms", "refused", "vacuous"):
            for one in getattr(found, kind):
                print(f"    {kind}: {one[:300]}", flush=True)
            getattr(total, kind).extend(getattr(found, kind))
        total.cases, total.runs = total.cases + found.cases, total.runs + found.runs
        total.with_elements += found.with_elements
    print(f"{'right ones':28} {total}", flush=True)
    wrong = Score()
    for case in wrong_cases() if "wrong".startswith(told.only) else ():
        before = len(wrong.alarms)
        wrong.add(case, case.verify(told.runs))
        if len(wrong.alarms) == before:
            print(f"    missed: {case.name}", flush=True)
    print(f"{'wrong ones':28} {wrong}")


if __name__ == "__main__":
    main()
