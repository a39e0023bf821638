"""Networks in plain torch that were left aside while the rules of `unfreeze` were written."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from exported.architecture import Architecture, grid
from fixtures.feeds import Input, Spec


class CausalConvolutions(nn.Module):
    """Dilated causal convolutions with residuals; the last step is forecast (TCN)."""

    def __init__(self) -> None:
        super().__init__()
        sizes = ((6, 12, 1), (12, 12, 2), (12, 12, 4))
        self.convs = nn.ModuleList(nn.Conv1d(given, made, 3, dilation=dilation) for given, made, dilation in sizes)
        self.skip, self.last = nn.Conv1d(6, 12, 1), nn.Linear(12, 3)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        x = x.transpose(1, 2)
        kept = self.skip(x)
        for conv in self.convs:
            padded = F.pad(x, (2 * conv.dilation[0], 0))
            x = F.gelu(conv(padded)) + kept
            kept = x
        return self.last(x[..., -1]), self.last(x.transpose(1, 2))


class InducedSets(nn.Module):
    """Sets attend to learnt points and back, and are pooled by learnt seeds (Set Transformer)."""

    def __init__(self) -> None:
        super().__init__()
        self.points, self.seeds = nn.Parameter(torch.randn(4, 16)), nn.Parameter(torch.randn(3, 16))
        self.enter = nn.Linear(5, 16)
        self.inner = nn.ModuleList(nn.MultiheadAttention(16, 2, batch_first=True) for _ in range(3))
        self.norms = nn.ModuleList(nn.LayerNorm(16) for _ in range(3))

    def block(self, place: int, queries: Tensor, keys: Tensor, ignored: Tensor | None = None) -> Tensor:
        found = self.inner[place](queries, keys, keys, key_padding_mask=ignored, need_weights=False)[0]
        return self.norms[place](queries + found)

    def forward(self, elements: Tensor, counts: Tensor) -> tuple[Tensor, Tensor]:
        n, length, _ = elements.shape
        ignored = torch.arange(length) >= counts[:, None]
        x = self.enter(elements)
        summary = self.block(0, self.points.expand(n, -1, -1), x, ignored)
        x = self.block(1, x, summary)
        pooled = self.block(2, self.seeds.expand(n, -1, -1), x, ignored)
        return pooled.flatten(1), x


class FeatureTokens(nn.Module):
    """Each number and each category of a table's row is a token (FT-Transformer)."""

    def __init__(self) -> None:
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.randn(4, 16)), nn.Parameter(torch.randn(4, 16))
        self.table, self.first = nn.Embedding(7 + 5 + 11, 16), nn.Parameter(torch.randn(1, 1, 16))
        self.register_buffer("offsets", torch.tensor([0, 7, 12]))
        layer = nn.TransformerEncoderLayer(16, 2, 24, batch_first=True, norm_first=True)
        self.inner, self.last = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), nn.Linear(16, 2)

    def forward(self, numbers: Tensor, categories: Tensor) -> Tensor:
        tokens = numbers[..., None] * self.weight + self.bias
        names = self.table(categories + self.offsets)
        x = torch.cat([self.first.expand(numbers.shape[0], -1, -1), tokens, names], 1)
        return self.last(F.relu(self.inner(x)[:, 0]))


class Hourglasses(nn.Module):
    """Two hourglasses, each supervised; heat maps are turned into coordinates by a soft maximum."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 7, 2, 3), nn.BatchNorm2d(8), nn.ReLU())
        self.down = nn.ModuleList(nn.Conv2d(8, 8, 3, padding=1) for _ in range(2))
        self.low = nn.ModuleList(nn.Conv2d(8, 8, 3, padding=1) for _ in range(2))
        self.heads = nn.ModuleList(nn.Conv2d(8, 4, 1) for _ in range(2))
        self.back = nn.Conv2d(4, 8, 1)

    def forward(self, image: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        x, maps = self.stem(image), []
        for down, low, head in zip(self.down, self.low, self.heads, strict=True):
            inner = F.relu(low(F.max_pool2d(F.relu(down(x)), 2)))
            made = x + F.interpolate(inner, size=x.shape[-2:], mode="nearest")
            maps.append(head(made))
            x = x + made + self.back(maps[-1])
        n, joints, h, w = maps[-1].shape
        weights = maps[-1].flatten(2).softmax(-1).view(n, joints, h, w)
        rows = (weights.sum(3) * torch.linspace(0, 1, h)).sum(-1)
        columns = (weights.sum(2) * torch.linspace(0, 1, w)).sum(-1)
        return maps[0], maps[1], torch.stack([columns, rows], -1)


class ImageFlow(nn.Module):
    """Squeezes, mixes channels and couples halves, and returns the density of the image (Glow)."""

    def __init__(self) -> None:
        super().__init__()
        self.mixes = nn.ParameterList(torch.eye(12) + torch.randn(12, 12) * 0.1 for _ in range(2))
        self.nets = nn.ModuleList(
            nn.Sequential(nn.Conv2d(6, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 12, 3, padding=1)) for _ in range(2)
        )

    def forward(self, image: Tensor) -> tuple[Tensor, Tensor]:
        n, c, h, w = image.shape
        x = image.view(n, c, h // 2, 2, w // 2, 2).permute(0, 1, 3, 5, 2, 4).reshape(n, 4 * c, h // 2, w // 2)
        log = image.new_zeros(n)
        for mix, net in zip(self.mixes, self.nets, strict=True):
            x = F.conv2d(x, mix[:, :, None, None])
            one, two = x.chunk(2, 1)
            shift, scale = net(one).chunk(2, 1)
            scale = torch.sigmoid(scale + 2)
            x, log = torch.cat([one, (two + shift) * scale], 1), log + scale.log().flatten(1).sum(1)
        prior = -0.5 * (x.square() + math.log(2 * math.pi))
        return x, log + prior.flatten(1).sum(1)


class Recurrent(nn.Module):
    """A recurrent forecaster: covariates beside values, parameters of Student's distribution (DeepAR)."""

    def __init__(self) -> None:
        super().__init__()
        self.series, self.lstm = nn.Embedding(9, 4), nn.LSTM(1 + 3 + 4, 12, 2, batch_first=True)
        self.last = nn.Linear(12, 3)

    def forward(self, values: Tensor, covariates: Tensor, series: Tensor) -> tuple[Tensor, ...]:
        scale = values.abs().mean(1, keepdim=True) + 1
        lagged = F.pad(values[:, :-1], (1, 0)) / scale
        known = self.series(series)[:, None].expand(-1, values.shape[1], -1)
        found = self.last(self.lstm(torch.cat([lagged[..., None], covariates, known], -1))[0])
        freedom, middle, width = found.unbind(-1)
        return 2 + F.softplus(freedom), middle * scale, F.softplus(width) * scale


class Equivariant(nn.Module):
    """Atoms of molecules, each with a mask: messages by distances, and moved coordinates (EGNN)."""

    def __init__(self) -> None:
        super().__init__()
        self.kinds, self.edge = nn.Embedding(8, 12), nn.Sequential(nn.Linear(25, 16), nn.SiLU(), nn.Linear(16, 12))
        self.move, self.node = nn.Linear(12, 1, bias=False), nn.Linear(24, 12)

    def forward(self, kinds: Tensor, places: Tensor) -> tuple[Tensor, Tensor]:
        atoms = kinds.shape[1]
        present = (kinds > 0).float()
        both = present[:, :, None] * present[:, None] * (1 - torch.eye(atoms))
        h = self.kinds(kinds)
        for _ in range(2):
            apart = places[:, :, None] - places[:, None]
            square = apart.square().sum(-1, keepdim=True)
            one, two = h[:, :, None].expand(-1, -1, atoms, -1), h[:, None].expand(-1, atoms, -1, -1)
            message = self.edge(torch.cat([one, two, square], -1)) * both[..., None]
            places = places + (apart / (square.sqrt() + 1) * self.move(message)).sum(2) / 7
            h = h + self.node(torch.cat([h, message.sum(2)], -1))
        energy = (h * present[..., None]).sum(1) / present.sum(1, keepdim=True).clamp(min=1)
        return energy, places


class Isomorphism(nn.Module):
    """Graphs of a batch in one list of nodes: sums over edges, a state per graph, sums per graph (GIN)."""

    def __init__(self) -> None:
        super().__init__()
        self.enter, self.last = nn.Linear(6, 12), nn.Linear(24, 3)
        self.layers = nn.ModuleList(nn.Sequential(nn.Linear(12, 12), nn.ReLU(), nn.Linear(12, 12)) for _ in range(2))
        self.share = nn.Parameter(torch.tensor(0.3))

    def forward(self, x: Tensor, edges: Tensor, graph: Tensor, about: Tensor) -> Tensor:
        x = self.enter(x)
        state = torch.zeros(about.shape[0], 12)
        for layer in self.layers:
            x = x + state[graph]
            heard = torch.zeros_like(x).index_add(0, edges[1], x[edges[0]])
            x = layer((1 + self.share) * x + heard)
            state = state + torch.zeros_like(state).index_add(0, graph, x)
        return self.last(torch.cat([state, about], -1))


class Memory(nn.Module):
    """Words read a memory in three hops, with a learnt time of each sentence (MemN2N)."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.ModuleList(nn.Embedding(40, 16, padding_idx=0) for _ in range(4))
        self.times = nn.ParameterList(torch.randn(12, 16) * 0.1 for _ in range(4))

    def forward(self, story: Tensor, question: Tensor) -> Tensor:
        sentences, length = story.shape[1:]
        places = torch.arange(1, length + 1)[:, None] / length
        columns = torch.arange(1, 17) / 16
        order = 1 - places - columns * (1 - 2 * places)
        state = self.words[0](question).sum(1)
        for hop in range(3):
            keys = (self.words[hop](story) * order).sum(2) + self.times[hop][:sentences]
            values = (self.words[hop + 1](story) * order).sum(2) + self.times[hop + 1][:sentences]
            weights = (keys @ state[..., None]).squeeze(-1).softmax(-1)
            state = state + (weights[:, None] @ values).squeeze(1)
        return state @ self.words[3].weight.T


class Mixer(nn.Module):
    """Mixes steps and then channels of series that are normalised by their own mean (TSMixer, RevIN)."""

    def __init__(self) -> None:
        super().__init__()
        self.time, self.channels = nn.Linear(24, 24), nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 5))
        self.norm, self.last = nn.BatchNorm1d(24), nn.Linear(24, 6)

    def forward(self, x: Tensor) -> Tensor:
        mean = x.mean(1, keepdim=True)
        deviation = (x.var(1, keepdim=True, unbiased=False) + 1e-5).sqrt()
        y = (x - mean) / deviation
        y = y + self.time(self.norm(y).transpose(1, 2)).transpose(1, 2)
        y = y + self.channels(y)
        return self.last(y.transpose(1, 2)).transpose(1, 2) * deviation + mean


SETS = Spec(
    {
        "elements": Input("float32", ("batch", "size", 5)),
        "counts": Input("int64", ("batch",), (1, "size + 1")),
    },
    (), grid("batch size", (2, 7), (1, 5), (3, 12)),
)  # fmt: skip
ROWS = grid("batch", (2,), (1,), (3,))
IMAGES = grid("batch height width", (2, 32, 64), (1, 48, 48), (3, 64, 32))
MOLECULES = grid("batch atoms", (2, 7), (1, 5), (3, 12))

HELD_OUT_NETWORKS: dict[str, Architecture] = {
    "temporal-convolutions": Architecture(
        CausalConvolutions,
        Spec({"x": Input("float32", ("batch", "steps", 6))}, (), grid("batch steps", (2, 9), (1, 7), (3, 20))),
    ),
    "set-transformer": Architecture(InducedSets, SETS),
    "feature-tokens": Architecture(
        FeatureTokens,
        Spec(
            {"numbers": Input("float32", ("batch", 4)), "categories": Input("int64", ("batch", 3), (0, 5))}, (), ROWS
        ),
    ),
    "hourglasses": Architecture(
        Hourglasses, Spec({"image": Input("float32", ("batch", 3, "height", "width"))}, (), IMAGES)
    ),
    "image-flow": Architecture(
        ImageFlow, Spec({"image": Input("float32", ("batch", 3, "height", "width"))}, (), IMAGES)
    ),
    "deepar": Architecture(
        Recurrent,
        Spec(
            {
                "values": Input("float32", ("batch", "steps")),
                "covariates": Input("float32", ("batch", "steps", 3)),
                "series": Input("int64", ("batch",), (0, 9)),
            },
            (), grid("batch steps", (2, 9), (1, 7), (3, 20)),
        ),
    ),
    "equivariant-graph": Architecture(
        Equivariant,
        Spec(
            {
                "kinds": Input("int64", ("batch", "atoms"), (0, 8)),
                "places": Input("float32", ("batch", "atoms", 3)),
            },
            (), MOLECULES,
        ),
    ),
    "graph-isomorphism": Architecture(
        Isomorphism,
        Spec(
            {
                "x": Input("float32", ("nodes", 6)),
                "edges": Input("int64", (2, "edges"), (0, "nodes")),
                "graph": Input("int64", ("nodes",), (0, "batch")),
                "about": Input("float32", ("batch", 12)),
            },
            (), grid("nodes edges batch", (9, 14, 2), (5, 7, 1), (12, 30, 3)),
        ),
    ),
    "memory-network": Architecture(
        Memory,
        Spec(
            {
                "story": Input("int64", ("batch", "sentences", "words"), (0, 40)),
                "question": Input("int64", ("batch", "asked"), (0, 40)),
            },
            ("sentences <= 12",),
            grid("batch sentences words asked", (2, 7, 5, 3), (1, 5, 9, 4), (3, 12, 1, 7)),
        ),
    ),
    "series-mixer": Architecture(Mixer, Spec({"x": Input("float32", ("batch", 24, 5))}, (), ROWS)),
}  # fmt: skip
