"""Recommenders, graphs, point clouds, fields, and mixtures of experts of our own."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from networks.network import Network, graph, points, sequence, tokens


class Interactions(nn.Module):
    """Bags of categories and dense features, the products of all pairs (DLRM)."""

    def __init__(self, mode: str) -> None:
        super().__init__()
        self.bags = nn.ModuleList(nn.EmbeddingBag(50, 8, mode=mode) for _ in range(2))
        self.dense, self.last = nn.Linear(4, 8), nn.Linear(11, 1)

    def forward(self, first: Tensor, second: Tensor, dense: Tensor) -> Tensor:
        rows = torch.stack([self.bags[0](first), self.bags[1](second), self.dense(dense).relu()], 1)
        products = rows @ rows.transpose(-1, -2)
        first_of, second_of = torch.triu(torch.ones(3, 3), 1).nonzero().unbind(1)
        return self.last(torch.cat([rows[:, 2], products[:, first_of, second_of]], 1)).sigmoid()


class Offsets(nn.Module):
    """Bags of different lengths, by where they begin."""

    def __init__(self, mode: str) -> None:
        super().__init__()
        self.bag, self.last = nn.EmbeddingBag(50, 8, mode=mode), nn.Linear(8, 3)

    def forward(self, ids: Tensor, offsets: Tensor) -> Tensor:
        return self.last(self.bag(ids, offsets))


class Factorized(nn.Module):
    """Linear terms, pairs by the square of the sum, a deep part (DeepFM)."""

    def __init__(self) -> None:
        super().__init__()
        self.linear, self.embed = nn.Embedding(200, 1), nn.Embedding(200, 8)
        self.starts = nn.Buffer(torch.tensor([0, 50, 100, 150]))
        self.deep = nn.Sequential(nn.Linear(32, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, fields: Tensor) -> Tensor:
        at = fields + self.starts
        x = self.embed(at)
        pairs = 0.5 * (x.sum(1).square() - x.square().sum(1)).sum(1, keepdim=True)
        return torch.sigmoid(self.linear(at).sum(1) + pairs + self.deep(x.flatten(1)))


class Crossed(nn.Module):
    """Products of feature maps (xDeepFM) and of features with themselves (DCN)."""

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.maps = nn.Embedding(50, 8), nn.Conv1d(16, 6, 1)
        self.cross = nn.ModuleList(nn.Linear(32, 32) for _ in range(2))

    def forward(self, fields: Tensor) -> tuple[Tensor, Tensor]:
        x = self.embed(fields)
        product = torch.einsum("nid,njd->nijd", x, x).flatten(1, 2)
        flat = first = x.flatten(1)
        for layer in self.cross:
            flat = first * layer(flat) + flat
        return self.maps(product).relu().sum(-1), flat


class History(nn.Module):
    """A candidate attends to a history that is padded with 0 (DIN)."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(50, 8, padding_idx=0)
        self.score = nn.Sequential(nn.Linear(32, 16), nn.PReLU(), nn.Linear(16, 1))

    def forward(self, tokens: Tensor, candidate: Tensor) -> Tensor:
        past, one = self.embed(tokens), self.embed(candidate)[:, None]
        one = one.expand_as(past)
        weights = self.score(torch.cat([past, one, past - one, past * one], -1))[..., 0]
        weights = weights.masked_fill(tokens == 0, -1e9).softmax(-1)
        return (F.normalize((weights[..., None] * past).sum(1)) * F.normalize(one[:, 0])).sum(-1)


class TwoTowers(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.user, self.items = nn.EmbeddingBag(50, 8, mode="mean"), nn.Embedding(50, 8)

    def forward(self, tokens: Tensor) -> tuple[Tensor, ...]:
        scores = F.normalize(self.user(tokens)) @ F.normalize(self.items.weight).T
        return (*scores.topk(5), scores.argsort(-1, descending=True)[:, :3])


class Messages(nn.Module):
    """A layer over the edges of a graph; `kind` chooses how messages are joined."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.kind, self.inner, self.last = kind, nn.Linear(8, 8), nn.Linear(16, 4)
        self.score = nn.Linear(16, 1)

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        source, target = edges[0], edges[1]
        x, count = self.inner(x), x.shape[0]
        messages, at = x[source], target[:, None].expand(-1, 8)
        zeros = torch.zeros_like(x)
        match self.kind:
            case "sum":
                found = zeros.index_add(0, target, messages)
            case "scatter":
                found = zeros.scatter_add(0, at, messages)
            case "degree":
                degree = torch.zeros(count).index_add(0, target, torch.ones_like(target, dtype=x.dtype)) + 1
                norm = degree.rsqrt()
                found = zeros.index_add(0, target, messages * (norm[source] * norm[target])[:, None])
            case "attention":
                scores = F.leaky_relu(self.score(torch.cat([messages, x[target]], 1)), 0.2)[:, 0].exp()
                total = torch.zeros(count).scatter_add(0, target, scores)
                found = zeros.index_add(0, target, messages * (scores / total[target])[:, None])
            case "dense":
                near = torch.zeros(count * count).index_add(0, target * count + source, torch.ones(target.shape[0]))
                near = near.view(count, count)
                found = (near / near.sum(1, keepdim=True).clamp(min=1)) @ x
            case reduce:
                found = zeros.scatter_reduce(0, at, messages, reduce, include_self=reduce == "amax")
        return self.last(torch.cat([x, found], 1)).log_softmax(-1)


class Neighbours(nn.Module):
    """Points and the four nearest to each (EdgeConv)."""

    def __init__(self) -> None:
        super().__init__()
        self.inner, self.last = nn.Sequential(nn.Linear(6, 16), nn.ReLU()), nn.Linear(16, 5)

    def forward(self, points: Tensor) -> Tensor:
        n = points.shape[0]
        square = points.square().sum(-1)
        distance = square[:, :, None] + square[:, None] - 2 * points @ points.transpose(-1, -2)
        at = distance.topk(4, largest=False)[1]
        near = points[torch.arange(n)[:, None, None], at]
        centre = points[:, :, None].expand(-1, -1, 4, -1)
        return self.last(self.inner(torch.cat([centre, near - centre], -1)).amax((1, 2)))


class Cloud(nn.Module):
    """Points turned by a matrix that is computed from them, the largest feature (PointNet)."""

    def __init__(self) -> None:
        super().__init__()
        self.turn, self.inner = nn.Sequential(nn.Linear(3, 9), nn.ReLU()), nn.Conv1d(3, 16, 1)
        self.norm, self.last = nn.BatchNorm1d(16), nn.Linear(16, 5)

    def forward(self, points: Tensor) -> Tensor:
        turn = self.turn(points).amax(1).view(-1, 3, 3) + torch.eye(3)
        return self.last(F.relu(self.norm(self.inner(torch.bmm(points, turn).transpose(-1, -2)))).amax(-1))


class Rendered(nn.Module):
    """Waves of points, densities, colours weighted along rays (NeRF)."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(27, 16), nn.Softplus(), nn.Linear(16, 4))

    def forward(self, points: Tensor) -> Tensor:
        waves = points[..., None] * 2.0 ** torch.arange(4)
        x = torch.cat([points, waves.sin().flatten(2), waves.cos().flatten(2)], -1)
        x = self.inner(x)
        alpha = 1 - torch.exp(-F.relu(x[..., 3]) * 0.1)
        through = torch.exp(torch.cumsum(torch.log(1 - alpha + 1e-10), 1) - torch.log(1 - alpha + 1e-10))
        return ((alpha * through)[..., None] * x[..., :3].sigmoid()).sum(1)


class Hashed(nn.Module):
    """Corners of cells hashed into a table (instant NGP)."""

    def __init__(self) -> None:
        super().__init__()
        self.table, self.last = nn.Embedding(64, 4), nn.Linear(4, 3)

    def forward(self, points: Tensor) -> Tensor:
        scaled = points.sigmoid() * 8
        low = scaled.floor()
        part, found = scaled - low, torch.zeros(())
        for corner in range(8):
            step = torch.tensor([corner & 1, corner >> 1 & 1, corner >> 2])
            x, y, z = (low.long() + step).unbind(-1)
            weight = torch.where(step.bool(), part, 1 - part).prod(-1, keepdim=True)
            found = found + weight * self.table((x ^ y * 2654435 ^ z * 805459) & 63)
        return self.last(found)


class Quantized(nn.Module):
    """The nearest of learned vectors, its number and itself (VQ-VAE)."""

    def __init__(self) -> None:
        super().__init__()
        self.codes = nn.Parameter(torch.randn(12, 16))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        at = torch.cdist(x, self.codes[None].expand(x.shape[0], -1, -1)).argmin(-1)
        return at, F.embedding(at, self.codes)


class Simulated(nn.Module):
    """Weights and activations rounded to 8 bits (quantisation aware training)."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(16, 16)

    def forward(self, x: Tensor) -> Tensor:
        weight = torch.fake_quantize_per_channel_affine(
            self.inner.weight, torch.full((16,), 0.01), torch.zeros(16, dtype=torch.int32), 0, -128, 127
        )
        x = torch.fake_quantize_per_tensor_affine(x, 0.03, 128, 0, 255)
        return F.linear(x, weight, self.inner.bias)


class Sparse(nn.Module):
    """Attention whose weights can be 0, by a sort (TabNet)."""

    def __init__(self) -> None:
        super().__init__()
        self.mask, self.inner = nn.Linear(16, 16), nn.Linear(16, 32)

    def forward(self, x: Tensor) -> Tensor:
        scores = self.mask(x)
        ordered = scores.sort(-1, descending=True)[0]
        total, at = ordered.cumsum(-1) - 1, torch.arange(1, 17)
        support = (at * ordered > total).sum(-1, keepdim=True)
        limit = total.gather(-1, support - 1) / support
        return F.glu(self.inner(x * (scores - limit).clamp(min=0)))


class Forecast(nn.Module):
    """Blocks that each explain a part of the past and of the future (N-BEATS)."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 20)) for _ in range(3))

    def forward(self, x: Tensor) -> Tensor:
        scale = x.std(-1, keepdim=True, unbiased=False) + 1e-5
        mean = x.mean(-1, keepdim=True)
        x, future = (x - mean) / scale, torch.zeros(())
        for block in self.blocks:
            past, part = block(x).split([16, 4], -1)
            x, future = x - past, future + part
        return future * scale + mean


class Indexing(nn.Module):
    """Rows and elements by tensors, masks, steps and rolls; counts and buckets."""

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        n = x.shape[0]
        at = x[:, :, 0].argsort(1)
        rows = x[torch.arange(n)[:, None], at]
        edges = torch.tensor([-1.0, -0.5, 0.0, 0.5, 1.0])
        buckets = torch.bucketize(x, edges)
        counts = F.one_hot(buckets, 6).sum((1, 2))
        written = x.clone()
        written[:, ::2, 1:5] = -1.0
        written[:, -1] = rows[:, 0]
        lower = torch.tril(x[:, :, :4] @ x[:, :, :4].transpose(-1, -2))
        return (
            rows, counts, written, lower, torch.roll(x, 2, 1).flip(-1), x[..., [3, 1, 1]], x[:, 1:] - x[:, :-1],
            x.unflatten(-1, (4, 4)).movedim(2, 0), torch.logsumexp(x, 1),
            x.masked_fill(x > 1, 0).amin(-1), x.sort(1)[0], torch.searchsorted(edges, x[:, 0].contiguous()),
        )  # fmt: skip


class Found(nn.Module):
    """As many rows as elements pass a test."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(16, 4)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        mask = x[..., 0] > 0
        picked = x[mask]
        at = mask.nonzero()
        return self.inner(picked), at, torch.zeros_like(x).masked_scatter(mask[..., None], picked)


def recommended(batch: int, length: int) -> dict[str, Tensor]:
    ids = torch.randint(0, 50, (2, batch, length))
    return {"first": ids[0], "second": ids[1], "dense": torch.randn(batch, 4)}


def bags(batch: int, length: int) -> dict[str, Tensor]:
    return {"ids": torch.randint(0, 50, (3 * batch + length,)), "offsets": torch.arange(batch) * 3}


def fields(batch: int, _: int) -> dict[str, Tensor]:
    return {"fields": torch.randint(0, 50, (batch, 4))}


def history(batch: int, length: int) -> dict[str, Tensor]:
    return tokens(batch, length) | {"candidate": torch.randint(1, 50, (batch,))}


GRAPHS = ("sum", "scatter", "degree", "attention", "dense", "amax", "mean")


def messages(kind: str) -> Network:
    return Network(lambda: Messages(kind), graph)


FEATURE_NETWORKS = {f"graph-{kind}": messages(kind) for kind in GRAPHS} | {
    "dlrm": Network(lambda: Interactions("sum"), recommended),
    "dlrm-mean": Network(lambda: Interactions("mean"), recommended),
    "bag-sum": Network(lambda: Offsets("sum"), bags),
    "bag-mean": Network(lambda: Offsets("mean"), bags),
    "deepfm": Network(Factorized, fields),
    "xdeepfm": Network(Crossed, fields),
    "din": Network(History, history),
    "two-towers": Network(TwoTowers, tokens),
    "edge-conv": Network(Neighbours, points),
    "pointnet": Network(Cloud, points),
    "nerf": Network(Rendered, points),
    "hash-grid": Network(Hashed, points),
    "vq-vae": Network(Quantized, sequence),
    "fake-quantized": Network(Simulated, sequence),
    "tabnet": Network(Sparse, sequence),
    "n-beats": Network(Forecast, sequence),
    "indexing": Network(Indexing, sequence),
    "rows-found": Network(Found, sequence),
}
