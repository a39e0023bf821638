"""Heads of detectors: grids, anchors, peaks, the best of many."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from networks.images import conv
from networks.network import BATCHES, IMAGES, Network, image


class Yolo(nn.Module):
    """Boxes relative to the cells of a grid, decoded; anchors in a buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.stem, self.head = nn.Sequential(conv(3, 8, stride=4), conv(8, 8, stride=2)), nn.Conv2d(8, 3 * 9, 1)
        self.anchors = nn.Buffer(torch.tensor([[10.0, 13.0], [16.0, 30.0], [33.0, 23.0]]))

    def forward(self, image: Tensor) -> Tensor:
        x = self.head(self.stem(image))
        n, _, h, w = x.shape
        x = x.view(n, 3, 9, h, w).permute(0, 1, 3, 4, 2).sigmoid()
        rows, columns = torch.meshgrid(torch.arange(h), torch.arange(w), indexing="ij")
        cells = torch.stack((columns, rows), -1).view(1, 1, h, w, 2).float()
        centres = (x[..., :2] * 2 - 0.5 + cells) * 8
        sizes = (x[..., 2:4] * 2) ** 2 * self.anchors.view(1, 3, 1, 1, 2)
        return torch.cat((centres, sizes, x[..., 4:]), -1).view(n, -1, 9)


class Distributed(nn.Module):
    """Distances to the four sides as expectations over bins (YOLOv8)."""

    def __init__(self) -> None:
        super().__init__()
        self.stem, self.boxes, self.classes = conv(3, 8, stride=8), nn.Conv2d(8, 64, 1), nn.Conv2d(8, 5, 1)

    def forward(self, image: Tensor) -> Tensor:
        x = self.stem(image)
        h, w = x.shape[2:]
        sides = self.boxes(x).flatten(2).view(x.shape[0], 4, 16, -1).softmax(2)
        sides = torch.einsum("nsbp,b->nsp", sides, torch.arange(16.0))
        rows, columns = torch.meshgrid(torch.arange(h) + 0.5, torch.arange(w) + 0.5, indexing="ij")
        at = torch.stack([columns.flatten(), rows.flatten()], 0)[None]
        low, high = at - sides[:, :2], at + sides[:, 2:]
        return torch.cat([(low + high) / 2 * 8, (high - low) * 8, self.classes(x).flatten(2).sigmoid()], 1)


class Best(nn.Module):
    """Boxes of anchors, the best five by score, clamped to the image (RetinaNet)."""

    def __init__(self) -> None:
        super().__init__()
        self.stem, self.boxes, self.scores = conv(3, 8, stride=8), nn.Conv2d(8, 8, 1), nn.Conv2d(8, 2, 1)

    def forward(self, image: Tensor) -> tuple[Tensor, ...]:
        x = self.stem(image)
        scores = self.scores(x).permute(0, 2, 3, 1).flatten(1)
        deltas = self.boxes(x).permute(0, 2, 3, 1).reshape(x.shape[0], -1, 4)
        best, at = scores.topk(5, 1)
        picked = torch.gather(deltas, 1, at[..., None].expand(-1, -1, 4))
        sizes = torch.exp(picked[..., 2:].clamp(max=4.0)) * 8
        boxes = torch.cat([picked[..., :2] - sizes / 2, picked[..., :2] + sizes / 2], -1)
        return boxes.clamp(0, 31), best.sigmoid(), at % 2


class Peaks(nn.Module):
    """Local maxima of a heat map, and what a second map has there (CenterNet)."""

    def __init__(self) -> None:
        super().__init__()
        self.stem, self.heat, self.size = conv(3, 8, stride=4), nn.Conv2d(8, 3, 1), nn.Conv2d(8, 2, 1)

    def forward(self, image: Tensor) -> tuple[Tensor, ...]:
        x = self.stem(image)
        heat = self.heat(x).sigmoid()
        heat = heat * (F.max_pool2d(heat, 3, 1, 1) == heat).float()
        n, _, h, w = heat.shape
        best, at = heat.view(n, -1).topk(4)
        places = at % (h * w)
        sizes = self.size(x).flatten(2).transpose(-1, -2).gather(1, places[..., None].expand(-1, -1, 2))
        return best, torch.div(at, h * w, rounding_mode="floor"), places // w, places % w, sizes


class Overlaps(nn.Module):
    """Two sets of boxes: their overlaps, and for each of the first the best of the second."""

    def forward(self, a: Tensor, b: Tensor) -> tuple[Tensor, ...]:
        a, b = (torch.cat([x[..., :2], x[..., :2] + x[..., 2:].abs()], -1) for x in (a, b))
        low = torch.maximum(a[:, None, :2], b[None, :, :2])
        high = torch.minimum(a[:, None, 2:], b[None, :, 2:])
        shared = (high - low).clamp(min=0).prod(-1)
        areas = [(x[:, 2:] - x[:, :2]).prod(-1) for x in (a, b)]
        overlap = shared / (areas[0][:, None] + areas[1][None] - shared)
        best, at = overlap.max(1)
        return overlap, best, at, b[at], torch.where(best > 0.3, at, -1)


class Suppressed(nn.Module):
    """Five rounds: take the best box, lower what overlaps it (soft suppression, without a loop at run time)."""

    def forward(self, boxes: Tensor, scores: Tensor) -> tuple[Tensor, Tensor]:
        boxes = torch.cat([boxes[:, :2], boxes[:, :2] + boxes[:, 2:].abs()], -1)
        areas, taken = (boxes[:, 2:] - boxes[:, :2]).prod(-1), []
        for _ in range(5):
            at = scores.argmax()
            taken.append(at)
            one = boxes[at]
            sides = torch.minimum(boxes[:, 2:], one[2:]) - torch.maximum(boxes[:, :2], one[:2])
            shared = sides.clamp(min=0).prod(-1)
            overlap = shared / (areas + areas[at] - shared)
            scores = scores * torch.exp(-(overlap**2) / 0.5)
            scores = torch.where(torch.arange(scores.shape[0]) == at, -1.0, scores)
        return torch.stack(taken), scores


class Keypoints(nn.Module):
    """Expected places of heat maps (soft argmax), and the hard ones."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Sequential(conv(3, 8, stride=2), nn.ConvTranspose2d(8, 4, 4, 2, 1))

    def forward(self, image: Tensor) -> tuple[Tensor, ...]:
        heat = self.inner(image)
        n, k, h, w = heat.shape
        soft = heat.view(n, k, -1).softmax(-1).view(n, k, h, w)
        across = (soft.sum(2) * torch.linspace(0, 1, 32)).sum(-1)
        down = (soft.sum(3) * torch.linspace(0, 1, 32)).sum(-1)
        best, at = heat.view(n, k, -1).max(-1)
        return torch.stack([across, down], -1), best, torch.stack([at % w, at // w], -1)


class Queries(nn.Module):
    """A transformer decoder with learned queries over image features (DETR)."""

    def __init__(self) -> None:
        super().__init__()
        self.stem, self.queries = conv(3, 16, stride=8), nn.Parameter(torch.randn(6, 16))
        self.rows, self.columns = nn.Embedding(8, 8), nn.Embedding(8, 8)
        self.inner = nn.TransformerDecoderLayer(16, 4, 32, batch_first=True)
        self.boxes, self.classes = nn.Linear(16, 4), nn.Linear(16, 5)

    def forward(self, image: Tensor) -> tuple[Tensor, Tensor]:
        x = self.stem(image)
        n, _, h, w = x.shape
        rows, columns = self.rows(torch.arange(h)), self.columns(torch.arange(w))
        at = torch.cat([columns[None].expand(h, -1, -1), rows[:, None].expand(-1, w, -1)], -1)
        memory = (x + at.permute(2, 0, 1)[None]).flatten(2).transpose(-1, -2)
        found = self.inner(self.queries[None].expand(n, -1, -1), memory)
        return self.boxes(found).sigmoid(), self.classes(found).softmax(-1)[..., :-1]


class Aligned(nn.Module):
    """Features at a 3 x 3 grid of each box, by bilinear sampling."""

    def __init__(self) -> None:
        super().__init__()
        self.stem, self.last = conv(3, 8, stride=4), nn.Linear(72, 5)

    def forward(self, image: Tensor, boxes: Tensor) -> Tensor:
        x, steps = self.stem(image), torch.linspace(0, 1, 3)
        low, size = boxes[..., :2].tanh(), boxes[..., 2:].sigmoid()
        across = low[..., 0:1] + size[..., 0:1] * steps
        down = low[..., 1:2] + size[..., 1:2] * steps
        n, k, _ = boxes.shape
        grid = torch.stack([across[:, :, None].expand(n, k, 3, 3), down[..., None].expand(n, k, 3, 3)], -1)
        found = F.grid_sample(x, grid.view(n, k * 3, 3, 2), align_corners=False)
        return self.last(found.view(n, 8, k, 9).transpose(1, 2).flatten(2))


def pairs(first: int, second: int) -> dict[str, Tensor]:
    return {"a": torch.rand(4 * first, 4), "b": torch.rand(second, 4)}


def scored(first: int, second: int) -> dict[str, Tensor]:
    return {"boxes": torch.rand(first * second, 4), "scores": torch.rand(first * second)}


def regions(batch: int, size: int) -> dict[str, Tensor]:
    return {"image": torch.randn(batch, 3, size, size), "boxes": torch.randn(batch, size // 8, 4)}


DETECTION_NETWORKS = {
    "yolo": Network(Yolo, image, IMAGES),
    "yolo-distributed": Network(Distributed, image, IMAGES),
    "retinanet": Network(Best, image, IMAGES),
    "centernet": Network(Peaks, image, IMAGES),
    "keypoints": Network(Keypoints, image, BATCHES),
    "detr": Network(Queries, image, IMAGES),
    "roi-sampled": Network(Aligned, regions, IMAGES),
    "box-overlaps": Network(Overlaps, pairs),
    "soft-suppression": Network(Suppressed, scored),
}
