"""Atomic file replacement: write to a temporary file in the same directory, then rename.

If the target is a symbolic link, the link stays, and the file that it points to is replaced.
"""

from __future__ import annotations

import errno
import os
import shutil
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

from gather_infer.errors import ModelWriteError


@dataclass(slots=True, eq=False)
class Staging:
    """Temporary files that `commit` renames to their targets.

    The end of the `with` block removes temporary files that were not renamed.

    pending   pairs of a temporary file and its target
    interim   a model that refers to data files by their second names, and its target. `commit` renames it first, then
              the data files, then the model, so the model has its data at every moment
    seconds   temporary file -> its second name
    """

    pending: list[tuple[Path, Path]] = field(default_factory=list)
    interim: tuple[Path, Path] | None = None
    seconds: dict[Path, Path] = field(default_factory=dict)

    def __enter__(self) -> Staging:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for temporary, _ in (*self.pending, *([self.interim] if self.interim else [])):
            with suppress(OSError):
                temporary.unlink()

    @contextmanager
    def create(self, path: Path) -> Iterator[BinaryIO]:
        """A new file that `commit` will rename to `path`.

        The new file has the permissions of the file at `path`, or the default permissions (umask) if there is none.
        Raises ModelWriteError when the file system reports an error, and when another new file has the same target.
        """
        path = _link_target(path)
        if self.place_of(path) is not None:
            raise ModelWriteError(f"{path}: two files of the output would be this one")
        temporary = path.parent / f".gather-infer-{os.urandom(6).hex()}.tmp"
        self.pending.append((temporary, path))  # before it exists: an interrupt may follow its creation at once
        try:
            descriptor = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0), 0o666)
            with os.fdopen(descriptor, "wb") as file:
                yield file
            if path.exists():
                shutil.copymode(path, temporary)
        except OSError as error:
            raise ModelWriteError(f"{path}: {error.strerror}") from error

    def place_of(self, path: Path) -> Path | None:
        """The temporary file that `commit` will rename to `path`; None if there is none."""
        real = os.path.realpath(path)
        return next((temporary for temporary, place in self.pending if os.path.realpath(place) == real), None)

    def second_name(self, path: Path) -> str:
        """Another name for the new file at `path`, in its directory, which it has besides while `commit` runs."""
        temporary = self.place_of(path)
        assert temporary is not None, "the file is a new one"
        second = path.with_name(f"{path.name}.gather-infer-{os.urandom(6).hex()}")
        self.seconds[temporary] = second
        return second.name

    def make_interim(self) -> None:
        """Make the file that was created last the interim one; the next one may have the same target."""
        self.interim = self.pending[-1]
        del self.pending[-1]  # after the assignment: an interrupt between them leaves no file

    def commit_first(self) -> None:
        """Make `commit` rename the file that was created last before all others but the interim one."""
        self.pending.insert(0, self.pending.pop())

    def commit(self) -> None:
        """Rename the files to their targets in the order of their creation; callers create the model's file last.

        SIGINT and SIGTERM take effect after the last rename, so that a model and its data file do not part.

        Raises ModelWriteError when a rename fails, after restoring the targets of earlier renames.
        """
        with _signals_deferred():
            old = self._link_targets() if len(self.pending) > 1 else {}
            renamed, new = [], {path for _, path in self.pending if not path.exists()}
            steps = [*([self.interim] if self.interim and self._link_seconds() else []), *self.pending]
            try:
                for temporary, path in steps:
                    os.replace(temporary, path)
                    renamed.append(path)
            except OSError as error:
                path = steps[len(renamed)][1]
                for _, done in self.pending:
                    with suppress(OSError):
                        if done in old and done in renamed:
                            os.replace(old[done], done)
                        elif done in new and done in renamed:
                            done.unlink()
                raise ModelWriteError(f"{path}: {error.strerror}") from error
            finally:
                for link in (*old.values(), *self.seconds.values()):
                    with suppress(OSError):
                        link.unlink()
            self.pending.clear()

    def _link_seconds(self) -> bool:
        """Give the files their second names; False where the file system has no links, and the interim file no use."""
        try:
            for temporary, second in self.seconds.items():
                os.link(temporary, second)
        except OSError:
            return False
        return True

    def _link_targets(self) -> dict[Path, Path]:
        """Target -> a second link to the file that is there, where the file system has links.

        It restores the file after an error. Besides, a rename then frees no blocks, which takes milliseconds for a
        large file.
        """
        old: dict[Path, Path] = {}
        for temporary, path in self.pending:
            link = temporary.with_suffix(".old.tmp")
            with suppress(OSError):
                os.link(path, link)
                old[path] = link
        return old


@contextmanager
def _signals_deferred() -> Iterator[None]:
    """Deliver SIGINT and SIGTERM after the block. Only the main thread can, and it alone gets them in Python."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    if threading.current_thread() is not threading.main_thread() or None in handlers.values():
        yield
        return
    received: list[int] = []
    for number in handlers:
        signal.signal(number, lambda arrived, frame: received.append(arrived))
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        for given in received:
            signal.raise_signal(given)


def _link_target(path: Path) -> Path:
    """The file that a link at `path` points to, which need not exist; `path` if it is not a link.

    Raises ModelWriteError for a link that leads back to itself.
    """
    if not path.is_symlink():
        return path
    real = Path(os.path.realpath(path))
    if real.is_symlink():
        raise ModelWriteError(f"{path}: {os.strerror(errno.ELOOP)}")
    return real
