"""The reason why a size cannot be freed."""

from __future__ import annotations

from gather_infer.errors import GatherInferError


class Blocked(GatherInferError):
    """A node that stands for the old size and cannot be edited; `reason` says what it would need."""

    def __init__(self, node: str, reason: str) -> None:
        super().__init__(f"{node}: {reason}")
        self.node, self.reason = node, reason
