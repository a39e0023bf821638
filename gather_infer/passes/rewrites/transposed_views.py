"""Transposes between two views, as in channel shuffles: the views become one before the Transpose."""

from __future__ import annotations

from collections.abc import Sequence

from gather_infer.passes.match import Match
from gather_infer.passes.rewrite import Rewrite
from gather_infer.passes.rewrites.pair_fusion import VIEWS
from gather_infer.passes.rule_table import RewriteSet
from gather_infer.tensor import static_dims

rewrites = RewriteSet()


@rewrites.rewrites("Reshape", since=5)
def reshape_of_transposed_view(match: Match) -> Rewrite | None:
    """Reshape(Transpose(view(x), p), t) == Transpose(Reshape(x, s), q), where t splits dims and merges none

    So each dim of the Transpose becomes consecutive dims of the result; s has these dims in the order before the
    Transpose, and q moves them. All dims are known and positive.
    """
    moved = match.producer(0, "Transpose") if match.is_only_reader(0) else None
    view = moved.producer(0, *VIEWS) if moved is not None and moved.is_only_reader(0) else None
    if moved is None or view is None:
        return None
    dims, result = static_dims(moved.result().shape), static_dims(match.result().shape)
    if not dims or result is None or 0 in dims:
        return None
    perm = moved.integers("perm") or tuple(reversed(range(len(dims))))
    parts = _split(dims, result)
    if parts is None or sorted(perm) != list(range(len(dims))):
        return None
    before = [at for axis in range(len(dims)) for at in parts[perm.index(axis)]]
    made = match.reshape(view.input(0), [result[at] for at in before])
    law = "Reshape(Transpose(view(x), p), t) == Transpose(Reshape(x, s), q), t splits dims"
    return match.replace_with(law, match.new("Transpose", [made], perm=[before.index(at) for at in range(len(result))]))


def _split(dims: Sequence[int], result: Sequence[int]) -> list[list[int]] | None:
    """For each of the positive `dims` the positions of its parts in `result`, in order; None if a dim is not split."""
    parts: list[list[int]] = []
    at = 0
    for dim in dims:
        start, size = at, 1
        while size < dim and at < len(result):
            size *= result[at]
            at += 1
        if size != dim:
            return None
        parts.append([*range(start, at)])
    parts[-1] += range(at, len(result))  # dims of 1
    return parts
