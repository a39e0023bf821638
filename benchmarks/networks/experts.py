"""Mixtures of experts, by the way they bring tokens to experts."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from networks.network import Network, sequence

WIDTH, EXPERTS, TOP = 16, 4, 2


class Mixture(nn.Module):
    """The weights of the experts and the router; `kind` is a method's name."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.kind, self.router = kind, nn.Linear(WIDTH, EXPERTS)
        self.up = nn.Parameter(torch.randn(EXPERTS, WIDTH, 24) * 0.2)
        self.down = nn.Parameter(torch.randn(EXPERTS, 24, WIDTH) * 0.2)
        self.norm = nn.LayerNorm(WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        found: Tensor = getattr(self, self.kind)(self.norm(x).flatten(0, 1))
        return x + found.view_as(x)

    def chosen(self, x: Tensor) -> tuple[Tensor, Tensor]:
        weights, experts = self.router(x).softmax(-1).topk(TOP, -1)
        return weights / weights.sum(-1, keepdim=True), experts

    def expert(self, x: Tensor, number: int) -> Tensor:
        return F.silu(x @ self.up[number]) @ self.down[number]

    def dense(self, x: Tensor) -> Tensor:
        """All experts for all tokens, weighted; those that are not chosen by 0."""
        weights, experts = self.chosen(x)
        full = torch.zeros(x.shape[0], EXPERTS).scatter(1, experts, weights)
        each = torch.einsum("teh,ehd->ted", F.silu(torch.einsum("td,edh->teh", x, self.up)), self.down)
        return torch.einsum("te,ted->td", full, each)

    def gathered(self, x: Tensor) -> Tensor:
        """The weights of the chosen experts for each token."""
        weights, experts = self.chosen(x)
        hidden = F.gelu(torch.einsum("td,tkdh->tkh", x, self.up[experts]))
        return torch.einsum("tk,tkh,tkhd->td", weights, hidden, self.down[experts])

    def looped(self, x: Tensor) -> Tensor:
        """The tokens of one expert after another, added where they came from."""
        weights, experts = self.chosen(x)
        found = torch.zeros_like(x)
        for number in range(EXPERTS):
            at, place = torch.where(experts == number)
            found = found.index_add(0, at, self.expert(x[at], number) * weights[at, place, None])
        return found

    def masked(self, x: Tensor) -> Tensor:
        """The mask of an expert transposed, as in the first Mixtral."""
        weights, experts = self.chosen(x)
        mask = F.one_hot(experts, EXPERTS).permute(2, 1, 0)
        found = torch.zeros_like(x)
        for number in range(EXPERTS):
            place, at = torch.where(mask[number])
            found.index_add_(0, at, self.expert(x[None, at].reshape(-1, WIDTH), number) * weights[at, place, None])
        return found

    def capacity(self, x: Tensor) -> Tensor:
        """Places in buffers of 5 tokens, numbered by a running sum; what is beyond is dropped (Switch, GShard)."""
        best, expert = self.router(x).softmax(-1).max(-1)
        mask = F.one_hot(expert, EXPERTS)
        place = ((mask.cumsum(0) - 1) * mask).sum(-1)
        kept = (place < 5).float()
        send = F.one_hot(place.clamp(max=4), 5).float()[:, None] * mask.float()[..., None] * kept[:, None, None]
        buffers = torch.einsum("tec,td->ecd", send, x)
        hidden = torch.bmm(F.relu(torch.bmm(buffers, self.up)), self.down)
        return torch.einsum("tec,ecd->td", send * best[:, None, None], hidden)

    def ordered(self, x: Tensor) -> Tensor:
        """Tokens sorted by expert, every expert over the sorted ones, and back by the inverse order (MegaBlocks)."""
        weights, experts = self.chosen(x)
        order = experts.flatten().argsort(stable=True)
        tokens, owner = x[order // TOP], experts.flatten()[order]
        found = torch.zeros_like(tokens)
        for number in range(EXPERTS):
            found = torch.where((owner == number)[:, None], self.expert(tokens, number), found)
        back = found[order.argsort()].view(-1, TOP, WIDTH)
        return (back * weights[..., None]).sum(1)

    def choosing(self, x: Tensor) -> Tensor:
        """Experts choose their three tokens (Expert Choice)."""
        best, at = self.router(x).softmax(-1).T.topk(3, -1)
        hidden = torch.bmm(F.silu(torch.bmm(x[at], self.up)), self.down) * best[..., None]
        return torch.zeros_like(x).index_add(0, at.flatten(), hidden.flatten(0, 1))

    def soft(self, x: Tensor) -> Tensor:
        """Slots that are averages of tokens (Soft MoE)."""
        scores = self.router(x)
        slots = scores.softmax(0).T @ x
        return scores.softmax(1) @ torch.bmm(F.silu(torch.bmm(slots[:, None], self.up)), self.down)[:, 0]

    def grouped(self, x: Tensor) -> Tensor:
        """The best group of experts first, then the best within, with a shared expert (DeepSeek)."""
        scores = self.router(x).sigmoid()
        groups = scores.view(-1, 2, 2).sum(-1).topk(1, -1)[1]
        mask = torch.zeros(x.shape[0], 2).scatter(1, groups, 1.0)
        limited = scores.masked_fill(mask.repeat_interleave(2, 1) == 0, 0.0)
        experts = limited.topk(TOP, -1)[1]
        weights = scores.gather(1, experts)
        weights = weights / (weights.sum(-1, keepdim=True) + 1e-20) * 1.5
        hidden = F.silu(torch.einsum("td,tkdh->tkh", x, self.up[experts]))
        return torch.einsum("tk,tkh,tkhd->td", weights, hidden, self.down[experts]) + self.expert(x, 0)

    def hashed(self, x: Tensor) -> Tensor:
        """The expert is the position's remainder (Hash Layers)."""
        experts = torch.arange(x.shape[0]) % EXPERTS
        return torch.einsum("th,thd->td", F.silu(torch.einsum("td,tdh->th", x, self.up[experts])), self.down[experts])

    def depth(self, x: Tensor) -> Tensor:
        """Only the four tokens that score highest pass the expert (Mixture of Depths)."""
        best, at = self.router(x)[:, 0].topk(4)
        order = at.argsort()
        at, best = at[order], best[order]
        return torch.zeros_like(x).index_copy(0, at, self.expert(x[at], 1) * best.sigmoid()[:, None])


class Tasks(nn.Module):
    """Two tasks, each with a gate over shared experts (MMoE)."""

    def __init__(self) -> None:
        super().__init__()
        self.experts = nn.ModuleList(nn.Linear(WIDTH, 8) for _ in range(EXPERTS))
        self.gates = nn.ModuleList(nn.Linear(WIDTH, EXPERTS) for _ in range(2))
        self.towers = nn.ModuleList(nn.Linear(8, 1) for _ in range(2))

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        each = torch.stack([expert(x).relu() for expert in self.experts], -2)
        return tuple(
            tower((gate(x).softmax(-1)[..., None] * each).sum(-2)).sigmoid()
            for gate, tower in zip(self.gates, self.towers, strict=True)
        )


KINDS = (
    "dense", "gathered", "looped", "masked", "capacity", "ordered", "choosing", "soft", "grouped", "hashed", "depth",
)  # fmt: skip


def mixture(kind: str) -> Network:
    return Network(lambda: Mixture(kind), sequence, experts=True)


EXPERT_NETWORKS = {f"experts-{kind}": mixture(kind) for kind in KINDS} | {
    "experts-tasks": Network(Tasks, sequence, experts=True)
}
