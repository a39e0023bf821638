"""The contracts of IRs, judged by OpenVINO: runs inside succeed, runs just outside a tight line fail."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

import gather_infer
from gather_infer.runtimes.process import Failure, RuntimeProcess
from gather_infer.runtimes.worker import OPENVINO
from tests.openvino.ir_made import written
from tests.validate.contract_runs import Feeds, judge

FIXTURES = Path(__file__).parents[2] / "fixtures" / "openvino"


class OpenVINORuntime:
    """OpenVINO in a child process.

    ascending   inputs that a layer requires to ascend, which the contract lists as open
    """

    def __init__(self, model: Path, folder: Path, ascending: tuple[str, ...] = ()) -> None:
        self.process = RuntimeProcess(OPENVINO, folder, 60)
        self.feeds = folder / "feeds.pickle"
        self.ascending = ascending
        failure = self.process.load(model)
        assert failure is None, failure

    def error(self, feeds: Feeds) -> str:
        ordered = {name: np.sort(each) if name in self.ascending else each for name, each in feeds.items()}
        self.feeds.write_bytes(pickle.dumps(ordered))
        found = self.process.run(self.feeds)
        return str(found) if isinstance(found, Failure) else ""


CASES = {
    "recommender": ("offsets",), "gru": (), "lstm": (), "cnn": (), "quantized": (), "unet": (), "detector-nms": (),
    "scattered": (), "bags": ("offsets", "segments"), "reversed_rows": (), "blocks": (),
}  # fmt: skip


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", CASES)
def test_openvino_runs_inside_the_contract_and_fails_outside(name: str, tmp_path: Path) -> None:
    fixture = FIXTURES / f"{name}.xml"
    model = fixture if fixture.exists() else written(name)
    contract = gather_infer.contract_of(model).contract
    runtime = OpenVINORuntime(model, tmp_path, CASES[name])
    with runtime.process:
        inside, outside = judge(contract, runtime, draws=12, pool=(1, 2, 3, 4, 5, 6, 8, 9, 16, 32))
    assert inside >= 6
    assert outside >= 2 * sum(line.tight for line in contract.lines)
