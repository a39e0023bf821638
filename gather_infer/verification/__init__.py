"""Differential testing: runs a rewritten model and the original on the same inputs, and compares their outputs.

Names are resolved on first use: the process that runs the models needs few of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gather_infer.lazy import lazy

if TYPE_CHECKING:
    from gather_infer.verification.driver import verify
    from gather_infer.verification.feeds import read_feeds
    from gather_infer.verification.model_chain import ModelChain
    from gather_infer.verification.result import Mismatch, Verification, VerificationRun

_HOME = {
    "feeds": ("read_feeds",),
    "model_chain": ("ModelChain",),
    "result": ("Mismatch", "VerificationRun", "Verification"),
    "driver": ("verify",),
}

__all__ = ["Mismatch", "ModelChain", "Verification", "VerificationRun", "read_feeds", "verify"]

__getattr__ = lazy(__name__, _HOME)
