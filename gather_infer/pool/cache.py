"""A cache of results in a folder: a file for each result, named by the digest of everything that decides it.

Processes need no locks: an entry appears complete or not at all, and equal names have equal content. An entry that is
damaged counts as missing, and is written again.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, Final, Generic

from gather_infer.errors import ModelWriteError
from gather_infer.pool.digests import model_digest, plain_text, program_digest
from gather_infer.pool.workers import I, R, Task

LIMIT_BYTES: Final = 1 << 30
"""Total size of the entries beyond which `prune` removes those that were not used for the longest time."""

_TAG: Final = b"Signature: 8a477f597d28d172789f06886806bc55\n# Results of gather-infer; removing them is safe.\n"
"""Content of CACHEDIR.TAG, by which backup programs recognize a cache: https://bford.info/cachedir/"""


@dataclass(frozen=True, slots=True)
class ResultCache:
    """A folder of results that consist of plain data, enums and dataclasses.

    classes   the enums and dataclasses in the results. Reading an entry creates objects of these classes only
    """

    folder: str
    classes: tuple[type, ...]

    def create(self) -> None:
        """Create the folder, or limit its size. Raises ModelWriteError if files cannot be written there."""
        folder = Path(self.folder)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            _replace(folder / "CACHEDIR.TAG", _TAG)
        except OSError as error:
            raise ModelWriteError(f"cache {folder}: {error.strerror}") from error
        self.prune()

    def read(self, key: str) -> Any:
        """The result with the given key; None if there is no entry, or it is damaged."""
        path = self._path(key)
        try:
            data = path.read_bytes()
        except OSError:
            return None
        digest, _, text = data.partition(b"\n")
        if digest != _digest(key, text):
            return None
        with suppress(OSError):
            os.utime(path)
        try:
            return _decoded(json.loads(text), {each.__name__: each for each in self.classes})
        except (KeyError, TypeError, ValueError):  # an entry that this program has not written
            return None

    def write(self, key: str, result: object) -> None:
        """Store a result, unless the file system reports an error: the result is then computed again next time."""
        text = json.dumps(_encoded(result), allow_nan=False).encode()
        path = self._path(key)
        with suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            _replace(path, _digest(key, text) + b"\n" + text)

    def prune(self, limit: int = LIMIT_BYTES) -> None:
        """Remove the entries that were not used for the longest time until all have at most `limit` bytes together."""
        found: list[tuple[float, int, Path]] = []
        for path in Path(self.folder).glob("??/*"):
            with suppress(OSError):  # another process may have removed it
                stat = path.stat()
                found.append((stat.st_mtime, stat.st_size, path))
        total = sum(size for _, size, _ in found)
        for _, size, path in sorted(found):
            if total <= limit:
                return
            with suppress(OSError):
                path.unlink()
            total -= size

    def _path(self, key: str) -> Path:
        return Path(self.folder, key[:2], key[2:])


def is_always_valid(result: object) -> bool:
    """Whether a result may be stored and used again: yes, if it depends on its key alone."""
    return True


@dataclass(frozen=True, slots=True)
class CachedTask(Generic[I, R]):
    """A task whose results are read from a cache if the cache has them, else computed and stored.

    task      a dataclass; its fields are part of the key
    path_of   returns the path of the model of an item
    is_valid  returns whether a result may be stored, and whether one from the cache still holds
    """

    task: Task[I, R]
    cache: ResultCache
    path_of: Callable[[I], str]
    is_valid: Callable[[R], bool] = is_always_valid

    def __call__(self, item: I) -> R:
        key = self._key(item)
        if key is None:
            return self.task(item)
        found: R | None = self.cache.read(key)
        if found is not None and self.is_valid(found):
            return found
        result = self.task(item)
        # if a file has changed meanwhile, the result may be that of either content
        if self.is_valid(result) and self._key(item) == key:
            self.cache.write(key, result)
        return result

    @property
    def crashed(self) -> Callable[[I, str], R]:
        return self.task.crashed

    def _key(self, item: I) -> str | None:
        options, model = plain_text((self.task, item)), model_digest(self.path_of(item))
        if options is None or model is None:
            return None
        return hashlib.sha256("\0".join((program_digest(), options, model)).encode()).hexdigest()


def _digest(key: str, text: bytes) -> bytes:
    return hashlib.sha256(key.encode() + text).hexdigest().encode()


def _replace(path: Path, data: bytes) -> None:
    """Write a file that appears complete or not at all. Raises OSError."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}-{os.urandom(6).hex()}")
    try:
        temporary.write_bytes(data)
        os.replace(temporary, path)
    except OSError:
        with suppress(OSError):
            temporary.unlink()
        raise


def _encoded(value: object) -> Any:
    """`value` as JSON; `_decoded` reads it. Sequences become tuples, mappings dicts."""
    if isinstance(value, Enum):
        return {"class": type(value).__name__, "value": value.value}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        members = {f.name: _encoded(getattr(value, f.name)) for f in dataclasses.fields(value) if f.init}
        return {"class": type(value).__name__, "members": members}
    if isinstance(value, Mapping):
        return {"entries": [[_encoded(key), _encoded(item)] for key, item in value.items()]}
    if isinstance(value, (tuple, list)):
        return [_encoded(item) for item in value]
    assert value is None or isinstance(value, (bool, int, float, str)), f"results hold no {type(value).__name__}"
    return value


def _decoded(value: Any, classes: Mapping[str, Any]) -> Any:
    if isinstance(value, list):
        return tuple(_decoded(item, classes) for item in value)
    if not isinstance(value, dict):
        return value
    if "entries" in value:
        return {_decoded(key, classes): _decoded(item, classes) for key, item in value["entries"]}
    kind = classes[value["class"]]
    if "value" in value:
        return kind(value["value"])
    return kind(**{name: _decoded(item, classes) for name, item in value["members"].items()})
