"""Code of the user, loaded only where it is named: rule files, and extensions of installed packages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gather_infer.lazy import lazy

if TYPE_CHECKING:
    from gather_infer.user_code.extension import Extension
    from gather_infer.user_code.installed import load_extension, load_extensions

_HOME = {"extension": ("Extension",), "installed": ("load_extension", "load_extensions")}

__all__ = ["Extension", "load_extension", "load_extensions"]

__getattr__ = lazy(__name__, _HOME)
