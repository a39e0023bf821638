"""Networks of images: convolutions, poolings, resizes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from networks.network import BATCHES, IMAGES, Network, image


def conv(before: int, after: int, size: int = 3, *, act: type[nn.Module] = nn.ReLU, **options: int) -> nn.Sequential:
    options = {"padding": size // 2} | options
    return nn.Sequential(nn.Conv2d(before, after, size, bias=False, **options), nn.BatchNorm2d(after), act())


class Residual(nn.Module):
    """`x + f(x)`, through a projection where channels or strides differ."""

    def __init__(self, inner: nn.Module, skip: nn.Module | None = None, act: nn.Module | None = None) -> None:
        super().__init__()
        self.inner, self.skip, self.act = inner, skip or nn.Identity(), act or nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        return self.act(self.skip(x) + self.inner(x))


class Head(nn.Module):
    """The mean over the image, and a classifier."""

    def __init__(self, channels: int, classes: int = 10) -> None:
        super().__init__()
        self.pool, self.classify = nn.AdaptiveAvgPool2d(1), nn.Linear(channels, classes)

    def forward(self, x: Tensor) -> Tensor:
        return self.classify(self.pool(x).flatten(1))


def basic(before: int, after: int, stride: int = 1) -> nn.Module:
    skip = nn.Conv2d(before, after, 1, stride) if stride > 1 or before != after else None
    inner = nn.Sequential(
        conv(before, after, stride=stride), nn.Conv2d(after, after, 3, padding=1), nn.BatchNorm2d(after)
    )
    return Residual(inner, skip, nn.ReLU())


def bottleneck(channels: int, groups: int = 1) -> nn.Module:
    inner = nn.Sequential(
        conv(channels, 8, 1), conv(8, 8, groups=groups), nn.Conv2d(8, channels, 1), nn.BatchNorm2d(channels)
    )
    return Residual(inner, act=nn.ReLU())


class Squeeze(nn.Module):
    """Squeeze and excitation."""

    def __init__(self, channels: int, gate: type[nn.Module] = nn.Sigmoid) -> None:
        super().__init__()
        self.inner = nn.Sequential(
            nn.AdaptiveAvgPool2d(1), nn.Conv2d(channels, 4, 1), nn.SiLU(), nn.Conv2d(4, channels, 1), gate()
        )

    def forward(self, x: Tensor) -> Tensor:
        return x * self.inner(x)


def inverted(channels: int, act: type[nn.Module], gate: nn.Module | None = None, size: int = 3) -> nn.Module:
    inner = nn.Sequential(
        conv(channels, 24, 1, act=act),
        conv(24, 24, size, act=act, groups=24),
        gate or nn.Identity(),
        nn.Conv2d(24, channels, 1),
        nn.BatchNorm2d(channels),
    )
    return Residual(inner)


class Dense(nn.Module):
    """Layers that read all the ones before (DenseNet)."""

    def __init__(self, layers: int = 4) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            nn.Sequential(nn.BatchNorm2d(8 + 4 * k), nn.ReLU(), nn.Conv2d(8 + 4 * k, 4, 3, padding=1))
            for k in range(layers)
        )

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = torch.cat([x, layer(x)], 1)
        return x


class Branches(nn.Module):
    """The results of some modules along the channels (Inception, Fire, Ghost)."""

    def __init__(self, *branches: nn.Module) -> None:
        super().__init__()
        self.branches = nn.ModuleList(branches)

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([branch(x) for branch in self.branches], 1)


class Ghost(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.cheap = conv(8, 8, 1), conv(8, 8, groups=8)

    def forward(self, x: Tensor) -> Tensor:
        found = self.first(x)
        return torch.cat([found, self.cheap(found)], 1)


class Shuffle(nn.Module):
    """Half of the channels pass; then channels of both halves alternate (ShuffleNet)."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Sequential(conv(4, 4, 1), conv(4, 4, groups=4), conv(4, 4, 1))

    def forward(self, x: Tensor) -> Tensor:
        a, b = x.chunk(2, 1)
        both = torch.cat([a, self.inner(b)], 1)
        n, c, h, w = both.shape
        return both.view(n, 2, c // 2, h, w).transpose(1, 2).reshape(n, c, h, w)


class Attend(nn.Module):
    """Attention over channels, then over places (CBAM)."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.channel = nn.Sequential(nn.Linear(channels, 4), nn.ReLU(), nn.Linear(4, channels))
        self.place = nn.Conv2d(2, 1, 7, padding=3)

    def forward(self, x: Tensor) -> Tensor:
        weights = torch.sigmoid(self.channel(x.mean((2, 3))) + self.channel(x.amax((2, 3))))
        x = x * weights[:, :, None, None]
        return x * torch.sigmoid(self.place(torch.cat([x.mean(1, keepdim=True), x.amax(1, keepdim=True)], 1)))


class NonLocal(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.query, self.key, self.value = (nn.Conv2d(channels, channels, 1) for _ in range(3))

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (m(x).flatten(2) for m in (self.query, self.key, self.value))
        return x + (v @ torch.softmax(q.transpose(-1, -2) @ k, -1).transpose(-1, -2)).view_as(x)


class Blocks(nn.Module):
    """A block of ConvNeXt: depthwise convolution, LayerNorm with channels last, a scale for each layer."""

    def __init__(self) -> None:
        super().__init__()
        self.depthwise = nn.Conv2d(8, 8, 7, padding=3, groups=8)
        self.norm, self.wide, self.narrow = nn.LayerNorm(8), nn.Linear(8, 32), nn.Linear(32, 8)
        self.scale = nn.Parameter(torch.full((8,), 0.1))

    def forward(self, x: Tensor) -> Tensor:
        y = self.norm(self.depthwise(x).permute(0, 2, 3, 1))
        return x + (self.scale * self.narrow(F.gelu(self.wide(y)))).permute(0, 3, 1, 2)


class UNet(nn.Module):
    def __init__(self, up: Callable[[], nn.Module]) -> None:
        super().__init__()
        self.down = nn.ModuleList([conv(3, 8), conv(8, 16, stride=2), conv(16, 16, stride=2)])
        self.up = nn.ModuleList([up(), up()])
        self.join = nn.ModuleList([conv(32, 16), conv(24, 16)])
        self.last = nn.Conv2d(16, 2, 1)

    def forward(self, image: Tensor) -> Tensor:
        a = self.down[0](image)
        b = self.down[1](a)
        x = self.join[0](torch.cat([self.up[0](self.down[2](b)), b], 1))
        return self.last(self.join[1](torch.cat([self.up[1](x), a], 1)))


class Pyramid(nn.Module):
    """A feature pyramid; the coarse levels are resized to the finer one's size."""

    def __init__(self, mode: str) -> None:
        super().__init__()
        self.mode = mode
        self.down = nn.ModuleList([conv(3, 8, stride=2), conv(8, 12, stride=2), conv(12, 16, stride=2)])
        self.side = nn.ModuleList([nn.Conv2d(n, 8, 1) for n in (8, 12, 16)])

    def forward(self, image: Tensor) -> tuple[Tensor, ...]:
        levels, x = [], image
        for layer, side in zip(self.down, self.side, strict=True):
            x = layer(x)
            levels.append(side(x))
        for at in (1, 0):
            levels[at] = levels[at] + F.interpolate(levels[at + 1], size=levels[at].shape[2:], mode=self.mode)
        return tuple(levels)


class Context(nn.Module):
    """Poolings or dilations at several scales, brought back to the image's size (PSPNet, DeepLab)."""

    def __init__(self, branches: Sequence[nn.Module], align: bool) -> None:
        super().__init__()
        self.stem, self.align = conv(3, 8, stride=4), align
        self.branches, self.last = nn.ModuleList(branches), nn.Conv2d(8 * (len(branches) + 1), 4, 1)

    def resized(self, x: Tensor, like: Tensor) -> Tensor:
        return F.interpolate(x, size=like.shape[2:], mode="bilinear", align_corners=self.align)

    def forward(self, image: Tensor) -> Tensor:
        x = self.stem(image)
        parts = [x] + [self.resized(branch(x), x) for branch in self.branches]
        return self.resized(self.last(torch.cat(parts, 1)), image).argmax(1)


class HighResolution(nn.Module):
    """Two streams of different resolution that exchange (HRNet)."""

    def __init__(self) -> None:
        super().__init__()
        self.stem, self.low, self.high = conv(3, 8, stride=2), conv(8, 16, stride=2), conv(8, 8)
        self.up, self.down, self.mix = nn.Conv2d(16, 8, 1), conv(8, 16, stride=2), conv(16, 16)

    def forward(self, image: Tensor) -> tuple[Tensor, Tensor]:
        x = self.stem(image)
        high, low = self.high(x), self.mix(self.low(x))
        high = high + F.interpolate(self.up(low), scale_factor=2.0, mode="bilinear", align_corners=False)
        return high, low + self.down(high)


class Resized(nn.Module):
    """Convolution, resize by a factor, convolution, and the input resized as well added."""

    def __init__(self, mode: str, factor: float, align: bool | None = None, antialias: bool = False) -> None:
        super().__init__()
        self.options = {"mode": mode, "scale_factor": factor, "align_corners": align, "antialias": antialias}
        self.first, self.last = conv(3, 8), nn.Conv2d(8, 3, 3, padding=1)

    def forward(self, image: Tensor) -> Tensor:
        resized = F.interpolate(self.first(image), **self.options)
        return self.last(resized) + F.interpolate(image, **self.options)


class Preprocessed(nn.Module):
    """Bytes with channels last, resized to 24 x 24, normalised, then a small network."""

    def __init__(self, mode: str) -> None:
        super().__init__()
        self.mode, self.inner = mode, nn.Sequential(conv(3, 8, stride=2), Head(8))
        self.mean = nn.Buffer(torch.tensor([0.485, 0.456, 0.406])[:, None, None])

    def forward(self, image: Tensor) -> Tensor:
        x = image.permute(0, 3, 1, 2).float() / 255
        x = F.interpolate(x, size=(24, 24), mode=self.mode, antialias=self.mode != "nearest")
        return self.inner((x - self.mean) / 0.226)


class SpatialTransformer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.locate, self.inner = nn.Sequential(conv(3, 4, stride=2), Head(4, 6)), nn.Sequential(conv(3, 8), Head(8))

    def forward(self, image: Tensor) -> Tensor:
        theta = self.locate(image).view(-1, 2, 3) * 0.1 + torch.eye(2, 3)
        rows, columns = torch.meshgrid(torch.linspace(-1, 1, 20), torch.linspace(-1, 1, 20), indexing="ij")
        places = torch.stack([columns, rows, torch.ones_like(rows)], -1).view(1, -1, 3)
        grid = (places @ theta.transpose(-1, -2)).view(-1, 20, 20, 2)
        return self.inner(F.grid_sample(image, grid, align_corners=False, padding_mode="border"))


class Warp(nn.Module):
    """An image sampled where a flow of two channels leads."""

    def __init__(self) -> None:
        super().__init__()
        self.flow = nn.Sequential(conv(3, 8), nn.Conv2d(8, 2, 3, padding=1))

    def forward(self, image: Tensor) -> Tensor:
        h, w = image.shape[2:]
        rows, columns = torch.meshgrid(torch.arange(h), torch.arange(w), indexing="ij")
        at = torch.stack([columns, rows], 0).to(image.dtype)[None] + self.flow(image)
        at = 2 * at / torch.tensor([w - 1, h - 1], dtype=image.dtype)[None, :, None, None] - 1
        return F.grid_sample(image, at.permute(0, 2, 3, 1), mode="bilinear", align_corners=True)


class Patches(nn.Module):
    """Windows unfolded, mixed by a linear layer, folded back."""

    def __init__(self) -> None:
        super().__init__()
        self.mix = nn.Linear(48, 48)

    def forward(self, image: Tensor) -> Tensor:
        windows = F.unfold(image, 4, stride=4)
        return F.fold(self.mix(windows.transpose(-1, -2)).transpose(-1, -2), image.shape[2:], 4, stride=4)


class ClassVector(nn.Module):
    """A vision transformer; the positions are resized to the image's number of patches."""

    def __init__(self) -> None:
        super().__init__()
        self.patches, self.cls = nn.Conv2d(3, 16, 8, 8), nn.Parameter(torch.randn(1, 1, 16))
        self.positions = nn.Parameter(torch.randn(1, 16, 4, 4))
        self.attention, self.norm = nn.MultiheadAttention(16, 4, batch_first=True), nn.LayerNorm(16)
        self.last = nn.Linear(16, 10)

    def forward(self, image: Tensor) -> Tensor:
        x = self.patches(image)
        x = x + F.interpolate(self.positions, size=x.shape[2:], mode="bicubic", align_corners=False)
        x = torch.cat([self.cls.expand(x.shape[0], -1, -1), x.flatten(2).transpose(-1, -2)], 1)
        y = self.norm(x)
        return self.last((x + self.attention(y, y, y, need_weights=False)[0])[:, 0])


class Mixer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.patches, self.norms = nn.Conv2d(3, 16, 8, 8), nn.ModuleList([nn.LayerNorm(16), nn.LayerNorm(16)])
        self.across, self.within = nn.Linear(16, 16), nn.Linear(16, 16)

    def forward(self, image: Tensor) -> Tensor:
        x = self.patches(image).flatten(2).transpose(-1, -2)
        x = x + F.gelu(self.across(self.norms[0](x).transpose(-1, -2))).transpose(-1, -2)
        return (x + F.gelu(self.within(self.norms[1](x)))).mean(1)


def bytes_of(batch: int, size: int) -> dict[str, Tensor]:
    return {"image": torch.randint(0, 256, (batch, size, size, 3), dtype=torch.uint8)}


def volume(batch: int, size: int) -> dict[str, Tensor]:
    return {"volume": torch.randn(batch, 1, 8, size // 2, size // 2)}


def crossed() -> nn.Module:
    return nn.Sequential(nn.Conv2d(8, 4, (1, 7), padding=(0, 3)), nn.Conv2d(4, 4, (7, 1), padding=(3, 0)))


def classifier() -> nn.Module:
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 32), nn.ReLU(), nn.Dropout(), nn.Linear(32, 10))


def pooled() -> nn.Module:
    return Context([nn.Sequential(nn.AdaptiveAvgPool2d(n), nn.Conv2d(8, 8, 1)) for n in (1, 2, 4)], True)


def dilated() -> nn.Module:
    return Context([*(conv(8, 8, dilation=n, padding=n) for n in (1, 2, 4)), nn.AdaptiveAvgPool2d(1)], False)


def volumes() -> nn.Module:
    return nn.Sequential(
        nn.Conv3d(1, 4, 3, padding=1), nn.BatchNorm3d(4), nn.ReLU(), nn.MaxPool3d(2), nn.ConvTranspose3d(4, 2, 2, 2)
    )


MAKERS: dict[str, Callable[[], nn.Module]] = {
    "resnet": lambda: nn.Sequential(
        conv(3, 8, 7, stride=2), nn.MaxPool2d(3, 2, 1), basic(8, 8), basic(8, 16, 2), Head(16)
    ),
    "resnet-bottleneck": lambda: nn.Sequential(conv(3, 16, stride=2), bottleneck(16), bottleneck(16), Head(16)),
    "resnext": lambda: nn.Sequential(conv(3, 16, stride=2), bottleneck(16, 4), bottleneck(16, 4), Head(16)),
    "mobilenet-v2": lambda: nn.Sequential(conv(3, 8, stride=2), inverted(8, nn.ReLU6), inverted(8, nn.ReLU6), Head(8)),
    "mobilenet-v3": lambda: nn.Sequential(
        conv(3, 8, stride=2, act=nn.Hardswish),
        inverted(8, nn.Hardswish, Squeeze(24, nn.Hardsigmoid), 5),
        Head(8),
    ),
    "efficientnet": lambda: nn.Sequential(
        conv(3, 8, stride=2, act=nn.SiLU), inverted(8, nn.SiLU, Squeeze(24)), Head(8)
    ),
    "densenet": lambda: nn.Sequential(conv(3, 8, stride=2), Dense(), nn.AvgPool2d(2), Head(24)),
    "inception": lambda: nn.Sequential(
        conv(3, 8, stride=2),
        Branches(conv(8, 4, 1), crossed(), nn.AvgPool2d(3, 1, 1, count_include_pad=False), nn.MaxPool2d(3, 1, 1)),
        Head(24),
    ),
    "squeezenet": lambda: nn.Sequential(
        nn.Conv2d(3, 8, 3, 2), nn.MaxPool2d(3, 2, ceil_mode=True), conv(8, 4, 1),
        Branches(conv(4, 8, 1), conv(4, 8)), Head(16),
    ),
    "ghostnet": lambda: nn.Sequential(conv(3, 8, stride=2), Ghost(), Squeeze(16), Head(16)),
    "shufflenet": lambda: nn.Sequential(conv(3, 8, stride=2), Shuffle(), Shuffle(), Head(8)),
    "vgg": lambda: nn.Sequential(
        conv(3, 8), nn.MaxPool2d(2), conv(8, 16), nn.MaxPool2d(2), nn.AdaptiveAvgPool2d((2, 2)), classifier()
    ),
    "cbam": lambda: nn.Sequential(conv(3, 8, stride=2), Attend(8), Head(8)),
    "non-local": lambda: nn.Sequential(conv(3, 8, stride=4), NonLocal(8), Head(8)),
    "convnext-blocks": lambda: nn.Sequential(nn.Conv2d(3, 8, 4, 4), Blocks(), Blocks(), Head(8)),
    "unet-transposed": lambda: UNet(lambda: nn.ConvTranspose2d(16, 16, 2, 2)),
    "unet-padded": lambda: UNet(lambda: nn.ConvTranspose2d(16, 16, 3, 2, 1, output_padding=1)),
    "unet-bilinear": lambda: UNet(lambda: nn.UpsamplingBilinear2d(scale_factor=2)),
    "pyramid-nearest": lambda: Pyramid("nearest"),
    "pyramid-bilinear": lambda: Pyramid("bilinear"),
    "pspnet": pooled,
    "deeplab": dilated,
    "hrnet": HighResolution,
    "dncnn": lambda: nn.Sequential(Residual(nn.Sequential(conv(3, 8), conv(8, 8), nn.Conv2d(8, 3, 3, padding=1)))),
    "pixel-shuffle": lambda: nn.Sequential(conv(3, 8, act=nn.Tanh), nn.Conv2d(8, 12, 3, padding=1), nn.PixelShuffle(2)),
    "pixel-unshuffle": lambda: nn.Sequential(nn.PixelUnshuffle(2), conv(12, 8, act=nn.LeakyReLU), nn.PixelShuffle(2)),
    "style": lambda: nn.Sequential(
        nn.ReflectionPad2d(3), nn.Conv2d(3, 8, 7), nn.InstanceNorm2d(8, affine=True), nn.ReLU(),
        nn.Upsample(scale_factor=2), nn.ReplicationPad2d(1), nn.Conv2d(8, 3, 3), nn.Tanh(),
    ),
    "group-norm": lambda: nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), nn.GroupNorm(4, 8), nn.ELU(), nn.Conv2d(8, 8, 3, 2), nn.GroupNorm(1, 8),
        nn.Mish(), Head(8),
    ),
    "local-response": lambda: nn.Sequential(
        nn.Conv2d(3, 8, 5, 2), nn.LocalResponseNorm(5), nn.PReLU(8), nn.LPPool2d(2, 2), Head(8)
    ),
    "autoencoder": lambda: nn.Sequential(
        conv(3, 8, stride=2), conv(8, 4, stride=2), nn.ConvTranspose2d(4, 8, 4, 2, 1), nn.CELU(),
        nn.ConvTranspose2d(8, 3, 4, 2, 1), nn.Sigmoid(),
    ),
    "spatial-transformer": SpatialTransformer,
    "flow-warp": Warp,
    "resize-nearest": lambda: Resized("nearest", 1.5),
    "resize-nearest-shrunk": lambda: Resized("nearest", 0.4),
    "resize-bilinear": lambda: Resized("bilinear", 1.5, False),
    "resize-aligned": lambda: Resized("bilinear", 2.0, True),
    "resize-bicubic": lambda: Resized("bicubic", 2.0, False),
    "resize-bicubic-aligned": lambda: Resized("bicubic", 0.75, True),
    "resize-area": lambda: Resized("area", 0.5),
    "resize-bilinear-antialias": lambda: Resized("bilinear", 0.5, False, True),
    "resize-bicubic-antialias": lambda: Resized("bicubic", 0.5, False, True),
    "vit-resized-positions": ClassVector,
}  # fmt: skip
IMAGE_NETWORKS = {name: Network(make, image, IMAGES) for name, make in MAKERS.items()} | {
    "mlp-mixer": Network(Mixer, image, BATCHES),
    "patches-folded": Network(Patches, image, BATCHES),
    "bytes-bilinear": Network(lambda: Preprocessed("bilinear"), bytes_of, IMAGES),
    "bytes-bicubic": Network(lambda: Preprocessed("bicubic"), bytes_of, IMAGES),
    "bytes-nearest": Network(lambda: Preprocessed("nearest"), bytes_of, IMAGES),
    "volumes": Network(volumes, volume, IMAGES),
}
