"""Recurrent operators with optional inputs that hold their default value."""

from __future__ import annotations

from typing import Final

from gather_infer.passes.match import Match
from gather_infer.passes.rewrite import Rewrite
from gather_infer.passes.rewrites.float_facts import is_zero
from gather_infer.passes.rule_table import RewriteSet

rewrites = RewriteSet()

_STATES: Final = {"GRU": (5,), "LSTM": (5, 6)}
"""Operator -> its inputs that default to 0.

RNN is left out: onnxruntime multiplies a given zero state even by an infinite weight, which gives NaN.
"""


@rewrites.rewrites(*_STATES, since=7)
def initial_state_of_zeros(match: Match) -> Rewrite | None:
    """LSTM(x, w, r, b, lens, 0, 0) == LSTM(x, w, r, b, lens); GRU likewise

    Each state is left out on its own. A state with -0.0 stays: an omitted one starts with 0.0.
    """
    left = [at for at in _STATES[match.op_type] if match.input(at) and is_zero(match, match.input(at))]
    if not left:
        return None
    inputs = ["" if at in left else name for at, name in enumerate(match.inputs)]
    while not inputs[-1]:
        del inputs[-1]
    law = f"{match.op_type}(.., 0) == {match.op_type}(..), a state starts with zeros where none is given"
    return match.replace_with(law, *match.copy(match, inputs))
