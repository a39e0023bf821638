"""Differential testing: whether a rewritten model computes what the original does, by running both on the same inputs.

Names are resolved on first use: the process that runs the models needs few of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gather_infer.lazy import lazy

if TYPE_CHECKING:
    from gather_infer.verification.feeds import read_feeds
    from gather_infer.verification.result import Mismatch, Run, Verification
    from gather_infer.verification.run import verify

_HOME = {"feeds": ("read_feeds",), "result": ("Mismatch", "Run", "Verification"), "run": ("verify",)}

__all__ = ["Mismatch", "Run", "Verification", "read_feeds", "verify"]

__getattr__ = lazy(__name__, _HOME)
