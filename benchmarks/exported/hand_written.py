"""Networks in plain torch, written as such networks are written, that benchmarks/networks does not have."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from exported.architecture import Architecture, grid
from fixtures.feeds import Input, Spec

WORDS = 60


class Denoiser(nn.Module):
    """A U-Net whose levels know the step of a diffusion, with attention at the lowest level."""

    def __init__(self) -> None:
        super().__init__()
        self.time = nn.Sequential(nn.Linear(8, 16), nn.SiLU(), nn.Linear(16, 16))
        self.enter, self.down = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 16, 3, 2, 1)
        self.norm, self.attend = nn.GroupNorm(4, 16), nn.MultiheadAttention(16, 2, batch_first=True)
        self.up, self.leave = nn.Conv2d(16, 8, 3, padding=1), nn.Conv2d(16, 3, 3, padding=1)

    def forward(self, noisy: Tensor, step: Tensor) -> Tensor:
        frequencies = torch.exp(-math.log(10000.0) * torch.arange(4) / 4)
        angles = step[:, None].float() * frequencies
        known = self.time(torch.cat([angles.sin(), angles.cos()], -1))[:, :, None, None]
        high = F.silu(self.enter(noisy))
        low = self.norm(self.down(high) + known)
        n, c, h, w = low.shape
        tokens = low.flatten(2).transpose(1, 2)
        low = low + self.attend(tokens, tokens, tokens, need_weights=False)[0].transpose(1, 2).reshape(n, c, h, w)
        raised = self.up(F.interpolate(low, size=high.shape[2:], mode="nearest"))
        return self.leave(torch.cat([raised, high], 1))


class AttentiveTranslator(nn.Module):
    """An LSTM over the source, one over the target with the encoder's last state, attention between (Luong)."""

    def __init__(self) -> None:
        super().__init__()
        self.source, self.target = nn.Embedding(WORDS, 12), nn.Embedding(WORDS, 12)
        self.encoder, self.decoder = nn.LSTM(12, 16, 2, batch_first=True), nn.LSTM(12, 16, 2, batch_first=True)
        self.last = nn.Linear(32, WORDS)

    def forward(self, source: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        memory, state = self.encoder(self.source(source))
        found, _ = self.decoder(self.target(target), state)
        scores = (found @ memory.transpose(1, 2)).masked_fill((source == 0)[:, None], -1e9)
        weights = scores.softmax(-1)
        return self.last(torch.cat([found, weights @ memory], -1)), weights


class Capsules(nn.Module):
    """Capsules with three rounds of routing by agreement."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(1, 16, 5, 2)
        self.weight = nn.Parameter(torch.randn(5, 72, 6, 8) * 0.1)

    @staticmethod
    def squashed(x: Tensor) -> Tensor:
        square = x.square().sum(-1, keepdim=True)
        return square / (1 + square) * x / (square + 1e-8).sqrt()

    def forward(self, image: Tensor) -> tuple[Tensor, Tensor]:
        low = self.squashed(self.conv(image).view(image.shape[0], 72, 8))
        votes = torch.einsum("cpij,npj->ncpi", self.weight, low)
        logits = torch.zeros_like(votes[..., 0])
        for _ in range(3):
            high = self.squashed((logits.softmax(1)[..., None] * votes).sum(2))
            logits = logits + torch.einsum("ncpi,nci->ncp", votes, high)
        return high, high.norm(dim=-1)


class MixtureDensity(nn.Module):
    """Weights, means and deviations of five normal distributions, and the density at a target."""

    def __init__(self) -> None:
        super().__init__()
        self.inner, self.last = nn.Sequential(nn.Linear(6, 24), nn.Tanh()), nn.Linear(24, 5 * 7)

    def forward(self, x: Tensor, target: Tensor) -> tuple[Tensor, ...]:
        weights, means, scales = self.last(self.inner(x)).split([5, 15, 15], -1)
        means, scales = means.view(-1, 5, 3), F.softplus(scales).view(-1, 5, 3) + 1e-3
        deviations = (target[:, None] - means) / scales
        log = -0.5 * deviations.square() - scales.log() - 0.5 * math.log(2 * math.pi)
        return weights.softmax(-1), means, scales, (weights.log_softmax(-1) + log.sum(-1)).logsumexp(-1)


class Flow(nn.Module):
    """Four steps of Runge and Kutta through a field (neural ODE)."""

    def __init__(self) -> None:
        super().__init__()
        self.field = nn.Sequential(nn.Linear(7, 24), nn.Tanh(), nn.Linear(24, 6))

    def slope(self, x: Tensor, time: Tensor) -> Tensor:
        return self.field(torch.cat([x, time.expand(x.shape[0], 1)], -1))

    def forward(self, x: Tensor, until: Tensor) -> Tensor:
        h = until / 4
        for step in range(4):
            time = h * step
            first = self.slope(x, time)
            second = self.slope(x + h / 2 * first, time + h / 2)
            third = self.slope(x + h / 2 * second, time + h / 2)
            x = x + h / 6 * (first + 2 * second + 2 * third + self.slope(x + h * third, time + h))
        return x


class GraphAttention(nn.Module):
    """Two heads of attention over edges: softmax by scatter, the maximum subtracted first (GAT)."""

    def __init__(self) -> None:
        super().__init__()
        self.inner, self.last = nn.Linear(6, 2 * 8, bias=False), nn.Linear(16, 4)
        self.source, self.target = nn.Parameter(torch.randn(2, 8)), nn.Parameter(torch.randn(2, 8))

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        h = self.inner(x).view(-1, 2, 8)
        source, target = edge_index
        scores = (h * self.source).sum(-1)[source] + (h * self.target).sum(-1)[target]
        scores = F.leaky_relu(scores, 0.2)
        at = target[:, None].expand(-1, 2)
        highest = torch.full_like(h[..., 0], -1e9).scatter_reduce(0, at, scores, "amax")
        powers = (scores - highest[target]).exp()
        total = torch.zeros_like(h[..., 0]).scatter_add(0, at, powers)
        messages = h[source] * (powers / (total[target] + 1e-9))[..., None]
        found = torch.zeros_like(h).scatter_add(0, target[:, None, None].expand_as(messages), messages)
        return self.last(F.elu(found.flatten(1)))


class ThreeLevels(nn.Module):
    """A detector's three levels, each decoded over its grid, in one list of boxes, and the best ten (YOLO, no NMS)."""

    def __init__(self) -> None:
        super().__init__()
        sizes = ((3, 8, 4), (8, 12, 2), (12, 16, 2))
        self.down = nn.ModuleList(nn.Conv2d(given, made, 3, stride, 1) for given, made, stride in sizes)
        self.norms = nn.ModuleList(nn.BatchNorm2d(made) for _, made, _ in sizes)
        self.heads = nn.ModuleList(nn.Conv2d(made, 9, 1) for _, made, _ in sizes)

    def forward(self, image: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        boxes, scores, x = [], [], image
        for conv, norm, head, stride in zip(self.down, self.norms, self.heads, (4, 8, 16), strict=True):
            x = F.silu(norm(conv(x)))
            found = head(x).flatten(2).transpose(1, 2)
            h, w = x.shape[2:]
            rows, columns = torch.meshgrid(torch.arange(h), torch.arange(w), indexing="ij")
            centres = (torch.stack([columns, rows], -1).view(1, -1, 2) + 0.5) * stride
            middle, half = centres + found[..., :2] * stride, found[..., 2:4].exp() * stride / 2
            boxes.append(torch.cat([middle - half, middle + half], -1))
            scores.append(found[..., 4:].sigmoid())
        every, score = torch.cat(boxes, 1), torch.cat(scores, 1)
        best, label = score.max(-1)
        best, at = best.topk(10, 1)
        return every.gather(1, at[..., None].expand(-1, -1, 4)), best, label.gather(1, at)


class StaticCache(nn.Module):
    """A step of a decoder whose cache has room for 24 tokens; the new ones are written at their positions."""

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.positions = nn.Embedding(WORDS, 16), nn.Embedding(24, 16)
        self.qkv, self.last, self.norm = nn.Linear(16, 48), nn.Linear(16, 16), nn.LayerNorm(16)

    def forward(self, tokens: Tensor, position: Tensor, keys: Tensor, values: Tensor) -> tuple[Tensor, ...]:
        x = self.embed(tokens) + self.positions(position)
        n, length, _ = x.shape
        q, k, v = (part.view(n, length, 2, 8).transpose(1, 2) for part in self.qkv(self.norm(x)).chunk(3, -1))
        at = position[:, None, :, None].expand(n, 2, length, 8)
        keys, values = keys.scatter(2, at, k), values.scatter(2, at, v)
        seen = torch.arange(24) <= position[:, None, :, None]
        found = F.scaled_dot_product_attention(q, keys, values, attn_mask=seen)
        x = x + self.last(found.transpose(1, 2).reshape(n, length, 16))
        return x @ self.embed.weight.T, keys, values


class NextItem(nn.Module):
    """The items of a session in order, the last of each scored against candidates (SASRec)."""

    def __init__(self) -> None:
        super().__init__()
        self.items, self.positions = nn.Embedding(WORDS, 16, padding_idx=0), nn.Embedding(32, 16)
        layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True, norm_first=True)
        self.inner = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)

    def forward(self, session: Tensor, length: Tensor, candidates: Tensor) -> Tensor:
        steps = session.shape[1]
        x = self.items(session) * 4 + self.positions(torch.arange(steps))
        x = self.inner(x, mask=torch.ones(steps, steps, dtype=torch.bool).triu(1))
        last = x[torch.arange(x.shape[0]), length - 1]
        return (self.items(candidates) @ last[:, :, None]).squeeze(-1)


class WideAndDeep(nn.Module):
    """Crossed features hashed into buckets beside a deep part; a column of numbers is cut into buckets."""

    def __init__(self) -> None:
        super().__init__()
        self.wide, self.tables = nn.Embedding(64, 1), nn.ModuleList(nn.Embedding(rows, 6) for rows in (20, 30, 8))
        self.deep = nn.Sequential(nn.Linear(6 * 3 + 2, 16), nn.ReLU(), nn.Linear(16, 1))
        self.register_buffer("edges", torch.tensor([-1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5]))

    def forward(self, user: Tensor, item: Tensor, numbers: Tensor) -> Tensor:
        bucket = (numbers[:, :1] > self.edges).sum(-1)
        crossed = (user * 31 + item * 17 + bucket) % 64
        rows = [table(ids) for table, ids in zip(self.tables, (user, item, bucket), strict=True)]
        return (self.wide(crossed) + self.deep(torch.cat([*rows, numbers], -1))).sigmoid().squeeze(-1)


class Transducer(nn.Module):
    """Every frame with every label (RNN-T's joiner), and the log of the blank's and labels' probabilities."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder, self.embed = nn.GRU(8, 12, batch_first=True), nn.Embedding(20, 12)
        self.predictor, self.joint = nn.LSTM(12, 12, batch_first=True), nn.Linear(12, 20)

    def forward(self, frames: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        heard = self.encoder(frames)[0]
        written = self.predictor(self.embed(F.pad(labels, (1, 0))))[0]
        log = self.joint((heard[:, :, None] + written[:, None]).tanh()).log_softmax(-1)
        at = labels[:, None, :, None].expand(-1, log.shape[1], -1, 1)
        return log[..., 0], log[:, :, :-1].gather(-1, at).squeeze(-1)


class Separator(nn.Module):
    """A mask for each of two speakers over learned waves, which are added where they overlap (Conv-TasNet)."""

    def __init__(self) -> None:
        super().__init__()
        self.analyse, self.synthesise = nn.Conv1d(1, 12, 16, 8, bias=False), nn.ConvTranspose1d(12, 1, 16, 8)
        self.norm = nn.GroupNorm(1, 12)
        self.blocks = nn.ModuleList(nn.Conv1d(12, 12, 3, padding=2**k, dilation=2**k, groups=12) for k in range(3))
        self.masks = nn.Conv1d(12, 24, 1)

    def forward(self, wave: Tensor) -> Tensor:
        spectrum = F.relu(self.analyse(wave[:, None]))
        x = self.norm(spectrum)
        for block in self.blocks:
            x = x + F.gelu(block(x))
        masks = self.masks(x).view(x.shape[0], 2, 12, -1).sigmoid()
        both = (masks * spectrum[:, None]).flatten(0, 1)
        return self.synthesise(both).view(x.shape[0], 2, -1)


class Modulated(nn.Module):
    """A convolution with weights of its own for each image: the batch becomes groups (StyleGAN)."""

    def __init__(self) -> None:
        super().__init__()
        self.style, self.weight = nn.Linear(6, 8), nn.Parameter(torch.randn(12, 8, 3, 3))

    def forward(self, features: Tensor, style: Tensor) -> Tensor:
        n, c, h, w = features.shape
        weight = self.weight * (self.style(style) + 1).view(n, 1, c, 1, 1)
        weight = weight * torch.rsqrt(weight.square().sum((2, 3, 4), keepdim=True) + 1e-8)
        windows = F.unfold(features, 3, padding=1)
        return F.leaky_relu((weight.flatten(2) @ windows).view(n, 12, h, w), 0.2)


class Windows(nn.Module):
    """Attention within windows of 4 by 4 of an image of any size: padded, rolled, cut, put back, cropped (Swin)."""

    def __init__(self) -> None:
        super().__init__()
        self.enter, self.norm = nn.Conv2d(3, 16, 4, 4), nn.LayerNorm(16)
        self.qkv, self.last, self.bias = nn.Linear(16, 48), nn.Linear(16, 16), nn.Embedding(49, 2)

    def forward(self, image: Tensor) -> Tensor:
        x = self.enter(image).permute(0, 2, 3, 1)
        n, h, w, c = x.shape
        padded = F.pad(self.norm(x), (0, 0, 0, (4 - h % 4) % 4, 0, (4 - w % 4) % 4)).roll((-2, -2), (1, 2))
        high, wide = padded.shape[1] // 4, padded.shape[2] // 4
        cut = padded.view(n, high, 4, wide, 4, c).transpose(2, 3).reshape(-1, 16, c)
        q, k, v = (part.view(-1, 16, 2, 8).transpose(1, 2) for part in self.qkv(cut).chunk(3, -1))
        row, column = torch.arange(16) // 4, torch.arange(16) % 4
        apart = (row[:, None] - row + 3) * 7 + column[:, None] - column + 3
        weights = (q @ k.transpose(2, 3) * 8**-0.5 + self.bias(apart).permute(2, 0, 1)).softmax(-1)
        found = self.last((weights @ v).transpose(1, 2).reshape(-1, 16, c))
        found = found.view(n, high, wide, 4, 4, c).transpose(2, 3).reshape(n, 4 * high, 4 * wide, c)
        return x + found.roll((2, 2), (1, 2))[:, :h, :w]


class Aggregated(nn.Module):
    """Residuals to eight centres, weighted by softmax and normalised twice (NetVLAD)."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.assign = nn.Conv2d(3, 12, 3, 4, 1), nn.Conv2d(12, 8, 1)
        self.centres = nn.Parameter(torch.rand(8, 12))

    def forward(self, image: Tensor) -> Tensor:
        x = F.normalize(self.conv(image), dim=1)
        weights, x = self.assign(x).flatten(2).softmax(1), x.flatten(2)
        found = weights @ x.transpose(1, 2) - weights.sum(-1, keepdim=True) * self.centres
        return F.normalize(F.normalize(found, dim=-1).flatten(1), dim=1)


class Transported(nn.Module):
    """Scores of two sets of points, made doubly stochastic by five rounds of Sinkhorn (SuperGlue)."""

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.cross = nn.Linear(6, 16), nn.MultiheadAttention(16, 2, batch_first=True)
        self.spare = nn.Parameter(torch.tensor(1.0))

    def forward(self, first: Tensor, second: Tensor) -> tuple[Tensor, ...]:
        a, b = self.embed(first), self.embed(second)
        a, b = a + self.cross(a, b, b, need_weights=False)[0], b + self.cross(b, a, a, need_weights=False)[0]
        scores = F.pad(a @ b.transpose(1, 2) / 4, (0, 1))
        scores = torch.cat([scores, self.spare.expand(scores.shape[0], 1, scores.shape[2])], 1)
        for _ in range(5):
            scores = scores - scores.logsumexp(2, keepdim=True)
            scores = scores - scores.logsumexp(1, keepdim=True)
        best, at = scores[:, :-1, :-1].max(2)
        back = scores[:, :-1, :-1].argmax(1)
        mutual = back.gather(1, at) == torch.arange(at.shape[1])
        return scores, at, mutual & (best.exp() > 0.2)


class Tree(nn.Module):
    """A soft decision tree of depth 3: products of the probabilities along the way to each leaf."""

    def __init__(self) -> None:
        super().__init__()
        self.split, self.leaves = nn.Linear(6, 7), nn.Parameter(torch.randn(8, 3))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        right = self.split(x).sigmoid()
        reached = torch.ones_like(right[:, :1])
        for depth in range(3):
            here = right[:, 2**depth - 1 : 2 ** (depth + 1) - 1]
            reached = torch.stack([reached * (1 - here), reached * here], -1).flatten(1)
        return reached @ self.leaves.softmax(-1), reached.argmax(-1)


class Policy(nn.Module):
    """An LSTM's step that values a state and chooses among the actions that are allowed (PPO)."""

    def __init__(self) -> None:
        super().__init__()
        self.enter, self.cell = nn.Sequential(nn.Linear(10, 16), nn.ReLU()), nn.LSTMCell(16, 16)
        self.actor, self.critic = nn.Linear(16, 6), nn.Linear(16, 1)

    def forward(self, state: Tensor, allowed: Tensor, hidden: Tensor, cell: Tensor) -> tuple[Tensor, ...]:
        hidden, cell = self.cell(self.enter(state), (hidden, cell))
        log = self.actor(hidden).masked_fill(allowed == 0, -1e8).log_softmax(-1)
        action = log.argmax(-1, keepdim=True)
        return action.squeeze(-1), log.gather(1, action).squeeze(-1), self.critic(hidden).squeeze(-1), hidden, cell


class ConvolutionalLstm(nn.Module):
    """Four frames through a convolutional LSTM, and the next frame."""

    def __init__(self) -> None:
        super().__init__()
        self.gates, self.last = nn.Conv2d(1 + 8, 32, 3, padding=1), nn.Conv2d(8, 1, 1)

    def forward(self, frames: Tensor) -> Tensor:
        hidden = cell = frames.new_zeros(frames.shape[0], 8, frames.shape[3], frames.shape[4])
        for step in range(4):
            i, f, o, g = self.gates(torch.cat([frames[:, step], hidden], 1)).chunk(4, 1)
            cell = f.sigmoid() * cell + i.sigmoid() * g.tanh()
            hidden = o.sigmoid() * cell.tanh()
        return self.last(hidden)


class Retrieval(nn.Module):
    """Two bags of ids with different lengths by offsets, normalised, and the best three of all pairs."""

    def __init__(self) -> None:
        super().__init__()
        self.query, self.item = nn.EmbeddingBag(WORDS, 12, mode="sum"), nn.EmbeddingBag(WORDS, 12, mode="mean")
        self.towers = nn.ModuleList(nn.Sequential(nn.Linear(12, 16), nn.ReLU(), nn.Linear(16, 8)) for _ in range(2))

    def forward(self, query: Tensor, items: Tensor) -> tuple[Tensor, Tensor]:
        a, b = F.normalize(self.towers[0](self.query(query))), F.normalize(self.towers[1](self.item(items)))
        return tuple((a @ b.T).topk(3, -1))


def integers(*dims: int | str, low: int = 0, high: int | str = WORDS, fill: str = "any") -> Input:
    return Input("int64", dims, (low, high), fill)


def floats(*dims: int | str) -> Input:
    return Input("float32", dims)


BATCHES = grid("batch", (2,), (1,), (5,))
SIZES = grid("batch height width", (2, 32, 64), (1, 48, 48), (3, 64, 32))
IMAGE = floats("batch", 3, "height", "width")

HAND_WRITTEN: dict[str, Architecture] = {
    "diffusion-unet": Architecture(
        Denoiser, Spec({"noisy": IMAGE, "step": integers("batch", high=1000)}, (), grid(
            "batch height width", (2, 16, 24), (1, 16, 16), (3, 8, 32)))
    ),
    "attentive-translator": Architecture(
        AttentiveTranslator,
        Spec({"source": integers("batch", "seq"), "target": integers("batch", "target")}, (),
             grid("batch seq target", (2, 7, 5), (1, 4, 9), (3, 12, 1))),
    ),
    "capsules": Architecture(Capsules, Spec({"image": floats("batch", 1, 15, 15)}, (), BATCHES)),
    "mixture-density": Architecture(
        MixtureDensity, Spec({"x": floats("batch", 6), "target": floats("batch", 3)}, (), BATCHES)
    ),
    "neural-ode": Architecture(Flow, Spec({"x": floats("batch", 6), "until": floats(1)}, (), BATCHES)),
    "gat": Architecture(
        GraphAttention,
        Spec({"x": floats("nodes", 6), "edge_index": integers(2, "edges", high="nodes")}, (),
             grid("nodes edges", (7, 12), (3, 20), (12, 5))),
    ),
    "yolo-three-levels": Architecture(ThreeLevels, Spec({"image": IMAGE}, (), SIZES)),
    "static-cache": Architecture(
        StaticCache,
        Spec({"tokens": integers("batch", 1), "position": integers("batch", 1, high=24),
              "keys": floats("batch", 2, 24, 8), "values": floats("batch", 2, 24, 8)}, (), BATCHES),
    ),
    "sasrec": Architecture(
        NextItem,
        Spec({"session": integers("batch", "seq", low=1), "length": integers("batch", low=1, high="seq + 1"),
              "candidates": integers("batch", "candidates")}, ("seq <= 32", "seq >= 1"),
             grid("batch seq candidates", (2, 7, 4), (1, 5, 9), (3, 12, 1))),
    ),
    "wide-and-deep": Architecture(
        WideAndDeep,
        Spec({"user": integers("batch", high=20), "item": integers("batch", high=30), "numbers": floats("batch", 2)},
             (), BATCHES),
    ),
    "transducer": Architecture(
        Transducer,
        Spec({"frames": floats("batch", "frames", 8), "labels": integers("batch", "seq", low=1, high=20)}, (),
             grid("batch frames seq", (2, 7, 5), (1, 4, 9), (3, 12, 2))),
    ),
    "conv-tasnet": Architecture(
        Separator, Spec({"wave": floats("batch", "samples")}, (), grid("batch samples", (2, 160), (1, 96), (3, 240)))
    ),
    "modulated-convolution": Architecture(
        Modulated, Spec({"features": floats("batch", 8, 12, 10), "style": floats("batch", 6)}, (), BATCHES)
    ),
    "rolled-windows": Architecture(Windows, Spec({"image": IMAGE}, (), grid(
        "batch height width", (2, 40, 24), (1, 32, 32), (3, 20, 52)))),
    "netvlad": Architecture(Aggregated, Spec({"image": IMAGE}, (), SIZES)),
    "sinkhorn": Architecture(
        Transported,
        Spec({"first": floats("batch", "first", 6), "second": floats("batch", "second", 6)}, (),
             grid("batch first second", (2, 7, 5), (1, 4, 9), (3, 12, 2))),
    ),
    "soft-tree": Architecture(Tree, Spec({"x": floats("batch", 6)}, (), BATCHES)),
    "policy": Architecture(
        Policy,
        Spec({"state": floats("batch", 10), "allowed": integers("batch", 6, high=2, fill="mask"),
              "hidden": floats("batch", 16), "cell": floats("batch", 16)}, (), BATCHES),
    ),
    "convolutional-lstm": Architecture(
        ConvolutionalLstm,
        Spec({"frames": floats("batch", 4, 1, "height", "width")}, (),
             grid("batch height width", (2, 12, 10), (1, 8, 8), (3, 6, 14))),
    ),
    "two-towers-bags": Architecture(
        Retrieval,
        Spec({"query": integers("queries", 5), "items": integers("items", 7)}, (),
             grid("queries items", (2, 6), (1, 9), (5, 3))),
    ),
}  # fmt: skip
