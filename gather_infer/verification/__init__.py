"""Whether a rewritten model computes what the original does, tried by running both.

Names are resolved on first use: the process that runs the models needs few of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gather_infer.lazy import lazy

if TYPE_CHECKING:
    from gather_infer.verification.result import Mismatch, Run, Verification
    from gather_infer.verification.run import verify

_HOME = {"result": ("Mismatch", "Run", "Verification"), "run": ("verify",)}

__all__ = ["Mismatch", "Run", "Verification", "verify"]

__getattr__ = lazy(__name__, _HOME)
