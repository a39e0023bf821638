"""A network of the table: a module, and what it is fed at a batch and a length."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import torch
from torch import Tensor, nn

Feeds: TypeAlias = Callable[[int, int], Mapping[str, Tensor]]

SEQUENCES = ((2, 7), (1, 5), (3, 12))
"""Batch and length; the first is the one that is traced and the only one of a static export."""
IMAGES = ((2, 32), (1, 48), (3, 64))
BATCHES = ((2, 32), (1, 32), (3, 32))


@dataclass(frozen=True)
class Network:
    """`make` builds it, `feeds` draws its inputs; a dim that differs between `bindings` is dynamic.

    experts      whether it is a mixture of experts
    is_scripted  whether its loops and branches are kept, by `torch.jit.script`
    by_name      whether it is called with the names of its inputs
    """

    make: Callable[[], nn.Module]
    feeds: Feeds
    bindings: tuple[tuple[int, int], ...] = SEQUENCES
    experts: bool = False
    is_scripted: bool = False
    by_name: bool = False


class Called(nn.Module):
    """A module whose outputs are a flat tuple of tensors; called with names where there are some."""

    def __init__(self, module: nn.Module, names: tuple[str, ...] = ()) -> None:
        super().__init__()
        self.module, self.names = module, names

    def forward(self, *tensors: Tensor) -> tuple[Tensor, ...]:
        if not self.names:
            return tuple(tensors_of(self.module(*tensors)))
        return tuple(tensors_of(self.module(**dict(zip(self.names, tensors, strict=True)))))


def tensors_of(value: Any) -> list[Tensor]:
    """The tensors of nested tuples and dictionaries; whatever else there is counts as none."""
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, Mapping):
        return [tensor for each in value.values() for tensor in tensors_of(each)]
    if isinstance(value, (tuple, list)):
        return [tensor for each in value for tensor in tensors_of(each)]
    return []


def disturb(module: nn.Module) -> None:
    """Add noise to the weights: fresh ones are often 0 or 1, which hides errors."""
    with torch.no_grad():
        for weight in module.parameters():
            if weight.is_floating_point():
                weight.add_(torch.randn_like(weight) * 0.05)


def image(batch: int, size: int) -> dict[str, Tensor]:
    return {"image": torch.randn(batch, 3, size, size)}


def sequence(batch: int, length: int) -> dict[str, Tensor]:
    return {"x": torch.randn(batch, length, 16)}


def signal(batch: int, length: int) -> dict[str, Tensor]:
    return {"x": torch.randn(batch, 4, 8 * length)}


def tokens(batch: int, length: int) -> dict[str, Tensor]:
    return {"tokens": torch.randint(0, 50, (batch, length))}


def points(batch: int, count: int) -> dict[str, Tensor]:
    return {"points": torch.randn(batch, 3 * count, 3)}


def graph(nodes: int, edges: int) -> dict[str, Tensor]:
    """Nodes with 8 features and directed edges between them."""
    return {"x": torch.randn(4 * nodes, 8), "edges": torch.randint(0, 4 * nodes, (2, 3 * edges))}
