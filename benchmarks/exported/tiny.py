"""Makers of transformers' models from tiny configurations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
import transformers
from torch import Tensor, nn


def headed(auto: str, kind: str, options: Mapping[str, Any]) -> Callable[[], nn.Module]:
    """A model by one of transformers' Auto classes: `AutoModelForCausalLM`, without a cache."""

    def make() -> nn.Module:
        config = transformers.AutoConfig.for_model(kind, **options)
        return getattr(transformers, auto).from_config(config)

    return make


def model(name: str, config: str, **options: Any) -> Callable[[], nn.Module]:
    """A model by the names of its class and of its configuration's."""

    def make() -> nn.Module:
        return getattr(transformers, name)(getattr(transformers, config)(**options))

    return make


class Boxed(nn.Module):
    """A model of texts on pages: boxes are given as corners and extents, because a box's ends are ordered."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, corner: Tensor, extent: Tensor, **named: Tensor) -> Any:
        return self.inner(bbox=torch.cat([corner, corner + extent], -1), **named)


class Part(nn.Module):
    """A submodule of a model, whose other parts are dropped."""

    def __init__(self, make: Callable[[], nn.Module], path: str, **fixed: Any) -> None:
        super().__init__()
        self.part, self.fixed = make().get_submodule(path), fixed

    def forward(self, *tensors: Tensor, **named: Tensor) -> Any:
        return self.part(*tensors, **named, **self.fixed)
