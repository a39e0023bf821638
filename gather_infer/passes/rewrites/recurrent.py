"""Recurrent operators with optional inputs that hold their default value."""

from __future__ import annotations

from typing import Final

from gather_infer.passes.rewrite import Rewrite
from gather_infer.passes.rewrites.computed import is_zero
from gather_infer.passes.site import Site
from gather_infer.passes.table import RewriteSet

rewrites = RewriteSet()

_STATES: Final = {"GRU": (5,), "LSTM": (5, 6)}
"""Operator -> its inputs that default to 0.

RNN is left out: onnxruntime multiplies a given state even by an infinite weight, and skips one that is left out.
"""


@rewrites.rewrites(*_STATES, since=7)
def initial_state_of_zeros(site: Site) -> Rewrite | None:
    """LSTM(x, w, r, b, lens, 0, 0) == LSTM(x, w, r, b, lens); GRU likewise, of each state by itself

    Not of -0.0: an omitted state starts with 0.0.
    """
    left = [at for at in _STATES[site.op_type] if site.input(at) and is_zero(site, site.input(at))]
    if not left:
        return None
    inputs = ["" if at in left else name for at, name in enumerate(site.inputs)]
    while not inputs[-1]:
        del inputs[-1]
    law = f"{site.op_type}(.., 0) == {site.op_type}(..), a state starts with zeros where none is given"
    return site.keeps(law, *site.copy(site, inputs))
