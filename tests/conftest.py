"""Cases of costly tests that run by default, garbage collection, and older onnx and onnxruntime, for all tests.

Where onnx is older than the tests, its parsers of the text form are those of `onnx_text`. Where onnxruntime is, a test
is skipped as soon as it makes a session.
"""

from __future__ import annotations

import gc
import zlib

import onnx.parser
import onnxruntime
import pytest

from gather_infer.inference.proto.releases import INSTALLED_OPSET, NEWEST_OPSET
from tests import onnx_text
from tests.onnx_versions import JUDGING_ONNXRUNTIME, NOT_JUDGED_BY_OLDER_ONNXRUNTIME, has_onnxruntime

if INSTALLED_OPSET < NEWEST_OPSET:
    onnx.parser.parse_model = onnx_text.parse_model
    onnx.parser.parse_graph = onnx_text.parse_graph
    onnx.parser.parse_function = onnx_text.parse_function


def _skip(*_: object, **__: object) -> None:
    pytest.skip(f"needs onnxruntime {JUDGING_ONNXRUNTIME}: judgement by a session", allow_module_level=True)


if not has_onnxruntime(JUDGING_ONNXRUNTIME):
    onnxruntime.InferenceSession.__init__ = _skip


@pytest.hookimpl(tryfirst=True)  # before tests are selected by markers
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    _leave_cases_to_oracle(items)
    _skip_what_older_onnxruntime_cannot_judge(items)


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """Leave what collection made out of garbage collection: the tests stay until the end."""
    gc.collect()
    gc.freeze()


def _leave_cases_to_oracle(items: list[pytest.Item]) -> None:
    """Mark all cases of a test with the marker `sampled(n)` as `oracle`, but one in n of them, at least one.

    Which ones depends on their names alone. So a new case does not change whether the others run.
    """
    cases: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("sampled"):
            cases.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for found in cases.values():
        ranked = sorted(found, key=lambda item: (zlib.crc32(item.nodeid.encode()), item.nodeid))
        for item in ranked[1:]:
            marker = item.get_closest_marker("sampled")
            assert marker is not None, "looked at above"
            if zlib.crc32(item.nodeid.encode()) % int(marker.args[0]):
                item.add_marker(pytest.mark.oracle)


def _skip_what_older_onnxruntime_cannot_judge(items: list[pytest.Item]) -> None:
    """Skip the tests that the installed onnxruntime cannot judge in a process of its own."""
    if has_onnxruntime(JUDGING_ONNXRUNTIME):
        return
    for item in items:
        for beginning, subject in NOT_JUDGED_BY_OLDER_ONNXRUNTIME.items():
            if item.nodeid.startswith(f"tests/{beginning}"):
                item.add_marker(pytest.mark.skip(reason=f"needs onnxruntime {JUDGING_ONNXRUNTIME}: {subject}"))
                break
