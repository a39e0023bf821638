"""The code of the user that a task runs, by name or as objects, so that a task can be sent to other processes."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from gather_infer.model import ModelFile
from gather_infer.model.model_loading import to_model_file
from gather_infer.rules import RuleSet
from gather_infer.user_code.rule_files import load_sets

if TYPE_CHECKING:
    from gather_infer.checks.check_set import CheckSet
    from gather_infer.passes import RewriteSet
    from gather_infer.user_code.extension import Extension


@dataclass(frozen=True, slots=True)
class UserCode:
    """Rule files, rewrite files and extensions by name, which are loaded once in each process; and sets as objects.

    rule_files, rewrite_files   paths from --rules and --rewrites
    extensions                  names of installed extensions
    rules, rewrites             sets that other processes can import, because a module defines them
    """

    rule_files: tuple[str, ...] = ()
    rewrite_files: tuple[str, ...] = ()
    extensions: tuple[str, ...] = ()
    rules: tuple[RuleSet, ...] = ()
    rewrites: tuple[RewriteSet, ...] = ()

    @property
    def is_plain(self) -> bool:
        """Whether there is no code; code may change, so its names do not decide a result."""
        return not (self.rule_files or self.rewrite_files or self.extensions or self.rules or self.rewrites)

    def rule_sets(self) -> list[RuleSet]:
        """All rule sets. Raises the errors of `load_sets` and `load_extensions`."""
        found = [*self.rules, *_sets_of(self.rule_files, RuleSet, "--rules")]
        return [*found, *self._extension().rule_sets] if self.extensions else found

    def rewrite_sets(self) -> list[RewriteSet]:
        """All rewrite sets. Raises as `rule_sets`."""
        if not (self.rewrite_files or self.extensions):
            return [*self.rewrites]
        from gather_infer.passes import RewriteSet

        found = [*self.rewrites, *_sets_of(self.rewrite_files, RewriteSet, "--rewrites")]
        return [*found, *self._extension().rewrites] if self.extensions else found

    def check_sets(self) -> Sequence[CheckSet]:
        """The check sets of the extensions. Raises as `rule_sets`."""
        return self._extension().checks if self.extensions else ()

    def open_model(self, model: object) -> ModelFile:
        """The model, with the lowerings of the extensions. Raises as `rule_sets` and `to_model_file`."""
        lowerings = self._extension().lowerings if self.extensions else ()
        if not lowerings:
            return to_model_file(model)
        from gather_infer.openvino import with_lowerings

        return with_lowerings(to_model_file(model), lowerings)

    def load(self) -> None:
        """Load all of it, to raise its errors before other processes do."""
        self.rule_sets()
        self.rewrite_sets()

    def _extension(self) -> Extension:
        from gather_infer.user_code.installed import loaded_extensions

        return loaded_extensions(tuple(dict.fromkeys(self.extensions)))


NO_CODE: Final = UserCode()


def _sets_of(files: tuple[str, ...], kind: type[Any], option: str) -> list[Any]:
    """As `load_sets`; each process runs a file once, unless the file changes."""
    found: list[Any] = []
    for file in files:
        loaded: Callable[..., list[Any]] = _loaded  # a class is hashable, whatever its type says
        found += loaded(file, _stamp(file), option, kind)
    return found


@cache
def _loaded(file: str, stamp: str, option: str, kind: Any) -> list[Any]:
    return load_sets([file], kind, option)


def _stamp(file: str) -> str:
    try:
        found = os.stat(file)
    except OSError:  # the loader reports it
        return ""
    return f"{os.path.abspath(file)} {found.st_ino} {found.st_size} {found.st_mtime_ns}"
