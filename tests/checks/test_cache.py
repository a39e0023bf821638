"""The cache of check results: reused only where nothing that decides a result has changed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from gather_infer import CheckResult, ModelWriteError, check_many
from gather_infer.checks.check_many_models import CLASSES, CheckTask, with_cache
from gather_infer.pool import cache as cache_module
from gather_infer.pool import digests
from gather_infer.pool.cache import ResultCache
from gather_infer.pool.digests import model_digest, plain_text
from tests.checks.killing import rules
from tests.checks.small_models import folder_of, lookup
from tests.documents import REPO

Counted = list[str]
PLAIN = CheckTask()


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> Counted:
    """The paths of the files that were checked, rather than found in the cache."""
    paths: Counted = []
    original = CheckTask.__call__

    def call(self: CheckTask, path: str) -> CheckResult:
        paths.append(path)
        return original(self, path)

    monkeypatch.setattr(CheckTask, "__call__", call)
    return paths


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def entries() -> list[Path]:
    return sorted(path for path in Path("cache").glob("??/*") if not path.name.startswith("."))


def checked(*paths: str, task: CheckTask = PLAIN) -> list[CheckResult]:
    cached = with_cache(task, "cache")
    return [cached(path) for path in paths]


def external(path: str, element: float = 1.0, location: str = "w.bin") -> None:
    """A model with the external table `w`, whose NaN is an error of the weights."""
    text = '<ir_version: 8, opset_import: ["": 17]> g (float[4] x) => (float[4] y) { y = Add(x, w) }'
    model = onnx.parser.parse_model(text)
    model.graph.initializer.append(numpy_helper.from_array(np.array([1, 2, 3, element], np.float32), "w"))
    onnx.save(model, path, save_as_external_data=True, location=location, size_threshold=0)


def test_a_second_run_finds_all(computed: Counted) -> None:
    paths = folder_of(Path(), 101)
    first = checked(*paths)
    assert len(computed) == 101
    second = checked(*paths)
    assert (second, len(computed)) == (first, 101)
    assert [type(a) for a in second[99].diagnostics] == [type(a) for a in first[99].diagnostics]
    assert second[99].diagnostics[0].text() == first[99].diagnostics[0].text()
    assert second[99].diagnostics[0].code == "GI301"


def test_fixtures_keep_every_field(computed: Counted) -> None:
    """Nodes in branches and functions, expressions, conditions: an entry has the fields of a result."""
    names = ("lstm-tagger-torchscript", "moe-dynamo", "detector-nonzero-dynamo", "openvino-gather")
    paths = [str(REPO / "fixtures" / f"{name}.onnx") for name in names] + [str(REPO / "fixtures/openvino/cnn.xml")]
    first = checked(*paths)
    assert [repr(result) for result in checked(*paths)] == [repr(result) for result in first]
    again = checked(*paths)
    for old, new in zip(first, again, strict=True):
        assert new == old
        assert [d.conditional_bodies for d in new.diagnostics] == [d.conditional_bodies for d in old.diagnostics]
        assert [d.parts() for d in new.diagnostics] == [d.parts() for d in old.diagnostics]
        assert list(new.accesses.items()) == list(old.accesses.items())
    assert len(computed) == len(paths)


def weights_byte() -> None:
    data = bytearray(Path("w.bin").read_bytes())
    data[-4:] = np.float32(np.nan).tobytes()
    stamp = os.stat("w.bin")
    Path("w.bin").write_bytes(data)
    os.utime("w.bin", ns=(stamp.st_atime_ns, stamp.st_mtime_ns))  # size and time stay


def model_byte() -> None:
    data = Path("m.onnx").read_bytes()
    stamp = os.stat("m.onnx")
    Path("m.onnx").write_bytes(data.replace(b"Add", b"Mul"))
    os.utime("m.onnx", ns=(stamp.st_atime_ns, stamp.st_mtime_ns))


def data_file_is_gone() -> None:
    Path("w.bin").unlink()


CHANGES: dict[str, Callable[[], None]] = {
    "weights": weights_byte,
    "model": model_byte,
    "no data file": data_file_is_gone,
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_file_is_checked_again(change: str, computed: Counted) -> None:
    external("m.onnx")
    (before,) = checked("m.onnx")
    CHANGES[change]()
    (after,) = checked("m.onnx")
    assert computed == ["m.onnx", "m.onnx"]
    assert after.diagnostics == next(check_many(["m.onnx"], jobs=1)).diagnostics
    assert (before.diagnostics == after.diagnostics) == (change == "model")


@pytest.mark.parametrize("part", ["cnn.bin", "cnn.xml"])
def test_both_files_of_an_ir_count(part: str, computed: Counted) -> None:
    for name in ("cnn.xml", "cnn.bin"):
        shutil.copy(REPO / "fixtures/openvino" / name, name)
    checked("cnn.xml")
    checked("cnn.xml")
    assert len(computed) == 1
    data = Path(part).read_bytes()
    Path(part).write_bytes(data[:-1] + (b" " if part.endswith("xml") else bytes([data[-1] ^ 1])))
    checked("cnn.xml")
    assert len(computed) == 2
    Path("cnn.bin").unlink()
    (after,) = checked("cnn.xml")
    assert len(computed) == 3 and after.diagnostics


OPTIONS = {
    "dims": CheckTask(dims=("N=3",)),
    "other dims": CheckTask(dims=("N=4",)),
    "inputs": CheckTask(inputs=("N=3",)),
    "ranges": CheckTask(ranges=("x=0..1",)),
    "constants": CheckTask(constants=True),
    "split": CheckTask(dims=("N", "=3")),
}


def test_each_option_is_part_of_the_key(computed: Counted) -> None:
    (path,) = folder_of(Path(), 1)
    texts = [plain_text(task) for task in (CheckTask(), *OPTIONS.values())]
    assert None not in texts and len(set(texts)) == len(texts)
    checked(path)
    for number, name in enumerate(("dims", "other dims", "constants")):
        checked(path, task=OPTIONS[name])
        assert len(computed) == number + 2
    checked(path, task=OPTIONS["dims"])
    assert len(computed) == 4


def test_the_name_is_part_of_the_key(computed: Counted) -> None:
    onnx.save(lookup(index=9), "a.onnx")
    shutil.copy("a.onnx", "b.onnx")
    assert [result.model for result in checked("a.onnx", "b.onnx", "a.onnx")] == ["a.onnx", "b.onnx", "a.onnx"]
    assert computed == ["a.onnx", "b.onnx"]


def test_rules_are_code(computed: Counted) -> None:
    """A rule set has no text that shows what it computes."""
    (path,) = folder_of(Path(), 1)
    task = CheckTask(rules=(rules,))
    assert plain_text(task) is None
    checked(path, task=task)
    checked(path, task=task)
    assert len(computed) == 2 and entries() == []
    assert list(check_many([path], rules=[rules], cache="other", jobs=1)) and not Path("other").exists()


def test_versions_are_part_of_the_key(computed: Counted, monkeypatch: pytest.MonkeyPatch) -> None:
    (path,) = folder_of(Path(), 1)
    checked(path)
    monkeypatch.setattr(digests, "version", lambda package: "99")
    digests.program_digest.cache_clear()
    checked(path)
    digests.program_digest.cache_clear()
    assert len(computed) == 2


def test_the_source_files_are_part_of_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    package = Path("copy/gather_infer")
    (package / "pool").mkdir(parents=True)
    monkeypatch.setattr(digests, "__file__", str(package / "pool/digests.py"))
    found = set()
    for text in ("a = 1\n", "a = 2\n"):
        (package / "rule.py").write_text(text)
        digests.program_digest.cache_clear()
        found.add(digests.program_digest())
    digests.program_digest.cache_clear()
    assert len(found) == 2


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "truncated": lambda data: data[:-10],
    "empty": lambda data: b"",
    "a byte": lambda data: data[:-20] + b"#" + data[-19:],
    "of another key": lambda data: data,
    "no entry": lambda data: b"\0" * len(data),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_entry_is_written_again(damage: str, computed: Counted) -> None:
    paths = folder_of(Path(), 2)
    first = checked(*paths)
    good = entries()
    a, b = good
    a.write_bytes(DAMAGE[damage](b.read_bytes() if damage == "of another key" else a.read_bytes()))
    again = checked(*paths)
    assert [replace(result, seconds=0) for result in again] == [replace(result, seconds=0) for result in first]
    assert len(computed) == 3 and len(entries()) == len(good)
    assert checked(*paths) == again
    assert len(computed) == 3


def test_an_entry_of_foreign_classes_is_ignored(computed: Counted) -> None:
    """A correct digest does not make an entry a result: only the listed classes are created."""
    (path,) = folder_of(Path(), 1)
    checked(path)
    (entry,) = entries()
    key = entry.parent.name + entry.name
    text = b'{"class": "Path", "members": {}}'
    entry.write_bytes(cache_module._digest(key, text) + b"\n" + text)
    assert ResultCache("cache", CLASSES).read(key) is None
    checked(path)
    assert len(computed) == 2


def test_a_file_that_changes_during_the_check_is_not_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    onnx.save(lookup(), "a.onnx")
    original = CheckTask.__call__

    def changing(self: CheckTask, path: str) -> CheckResult:
        result = original(self, path)
        onnx.save(lookup(index=9), "a.onnx")
        return result

    monkeypatch.setattr(CheckTask, "__call__", changing)
    checked("a.onnx")
    assert entries() == []


def test_processes_share_a_cache() -> None:
    """Four runs of two processes at once, and threads of this one: the same results, and whole entries."""
    paths = folder_of(Path(), 30)

    def run(_: int) -> dict[str, CheckResult]:
        return {result.model: result for result in check_many(paths, jobs=2, cache="cache")}

    with ThreadPoolExecutor(4) as pool:
        runs = list(pool.map(run, range(4)))
    assert all(run[path].diagnostics == runs[0][path].diagnostics for run in runs for path in paths)
    assert len(entries()) == 30
    assert list(Path("cache").glob("??/.*")) == []
    store = ResultCache("cache", CLASSES)
    assert all(store.read(entry.parent.name + entry.name) is not None for entry in entries())


def test_executors_use_the_cache(computed: Counted) -> None:
    paths = folder_of(Path(), 6)
    for _ in range(2):
        with ThreadPoolExecutor(2) as threads:
            assert len(list(check_many(paths, executor=threads, cache="cache"))) == 6
    assert len(computed) == 6


def unwritable() -> Iterator[tuple[str, str]]:
    Path("file").write_text("")
    yield "file", "cache file: File exists"
    yield "file/below", "cache file/below: Not a directory"
    if os.path.isdir("/proc"):
        yield "/proc/cache", "cache /proc/cache: No such file or directory"


def test_a_folder_that_cannot_be_written() -> None:
    for folder, message in unwritable():
        with pytest.raises(ModelWriteError, match=message):
            check_many([], cache=folder)


def test_a_full_disk_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    paths = folder_of(Path(), 1)
    cached = with_cache(CheckTask(), "cache")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    assert cached(paths[0]).was_checked
    assert entries() == [] and list(Path("cache").glob("??/.*")) == []


def test_the_size_is_limited() -> None:
    paths = folder_of(Path(), 4)
    checked(*paths)
    store = ResultCache("cache", CLASSES)
    for age, entry in enumerate(entries()):
        os.utime(entry, (1000 + age, 1000 + age))
    kept = entries()[2:]
    store.prune(sum(entry.stat().st_size for entry in kept))
    assert entries() == kept


def test_a_missing_file_is_not_stored(computed: Counted) -> None:
    Path("text.onnx").write_bytes(b"\x08\x08no model")
    for _ in range(2):
        assert [r.diagnostics[0].code for r in checked("missing.onnx", "text.onnx")] == ["GI001", "GI001"]
    assert computed == ["missing.onnx", "text.onnx", "missing.onnx"]
    assert model_digest("missing.onnx") is None and model_digest(".") is None


def test_the_cache_is_tagged() -> None:
    checked(*folder_of(Path(), 1))
    assert Path("cache/CACHEDIR.TAG").read_text().startswith("Signature: 8a477f597d28d172789f06886806bc55\n")
