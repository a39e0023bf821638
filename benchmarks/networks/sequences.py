"""Networks of sequences: recurrences, attentions, signals."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from networks.network import Network, sequence, signal, tokens


class Recurrent(nn.Module):
    """Embedded tokens through a recurrence; all states, and the last one."""

    def __init__(self, kind: type[nn.RNNBase], **options: bool | int | str) -> None:
        super().__init__()
        self.embed, self.inner = nn.Embedding(50, 12), kind(12, 8, batch_first=True, **options)

    def forward(self, tokens: Tensor) -> tuple[Tensor, Tensor]:
        found, last = self.inner(self.embed(tokens))
        return found, last[0] if isinstance(last, tuple) else last


class Cells(nn.Module):
    """Four steps of a cell, each fed with what the one before gave."""

    def __init__(self) -> None:
        super().__init__()
        self.cell, self.other, self.last = nn.LSTMCell(16, 16), nn.GRUCell(16, 16), nn.Linear(16, 16)

    def forward(self, x: Tensor) -> Tensor:
        h = c = g = torch.zeros(x.shape[0], 16)
        y, found = x[:, 0], []
        for _ in range(4):
            h, c = self.cell(y, (h, c))
            g = self.other(h, g)
            y = self.last(g)
            found.append(y)
        return torch.stack(found, 1)


class Recognizer(nn.Module):
    """Convolutions over a line of text, a recurrence along it, the best class at each place (CRNN)."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.rnn = nn.Conv1d(4, 8, 3, 2, 1), nn.LSTM(8, 8, bidirectional=True, batch_first=True)
        self.last = nn.Linear(16, 12)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        scores = self.last(self.rnn(F.relu(self.conv(x)).transpose(-1, -2))[0]).log_softmax(-1)
        best = scores.argmax(-1)
        fresh = torch.cat([torch.ones_like(best[:, :1], dtype=torch.bool), best[:, 1:] != best[:, :-1]], 1)
        return scores, torch.where(fresh & (best != 0), best, -1)


class Causal(nn.Module):
    """Dilated convolutions of the past, gated (WaveNet, TCN)."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Conv1d(4, 8, 2, dilation=2**k) for k in range(3))

    def forward(self, x: Tensor) -> Tensor:
        for k, layer in enumerate(self.layers):
            a, b = layer(F.pad(x, (2**k, 0))).chunk(2, 1)
            x = x + a.tanh() * b.sigmoid()
        return x


class Attention(nn.Module):
    """Self attention with heads; `kind` chooses what is added or multiplied."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.kind, self.qkv, self.last = kind, nn.Linear(16, 48), nn.Linear(16, 16)
        self.table = nn.Embedding(9, 4)

    def forward(self, x: Tensor) -> Tensor:
        n, length, _ = x.shape
        q, k, v = (part.view(n, length, 4, 4).transpose(1, 2) for part in self.qkv(x).chunk(3, -1))
        at = torch.arange(length)
        distance = at[:, None] - at[None]
        match self.kind:
            case "causal":
                found = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            case "grouped":
                found = F.scaled_dot_product_attention(q, k[:, :2].repeat_interleave(2, 1), v, scale=0.3)
            case "alibi":
                bias = -distance.abs() * (2.0 ** -torch.arange(1, 5.0))[:, None, None]
                found = F.scaled_dot_product_attention(q, k, v, attn_mask=bias)
            case "relative":
                bias = self.table(distance.clamp(-4, 4) + 4).permute(2, 0, 1)
                found = (q @ k.transpose(-1, -2) * 0.5 + bias).softmax(-1) @ v
            case "rotary":
                angles = torch.outer(at.float(), 100.0 ** -torch.arange(0, 1, 0.5))
                turn = torch.cat([angles, angles], -1)
                q, k = (t * turn.cos() + torch.cat([-t[..., 2:], t[..., :2]], -1) * turn.sin() for t in (q, k))
                found = F.scaled_dot_product_attention(q, k, v)
            case "windowed":
                scores = (q @ k.transpose(-1, -2) * 0.5).masked_fill(distance.abs() > 2, float("-inf"))
                found = scores.softmax(-1) @ v
            case "linear":
                q, k = F.elu(q) + 1, F.elu(k) + 1
                found = q @ (k.transpose(-1, -2) @ v) / (q @ k.sum(2)[..., None] + 1e-6)
            case "causal-linear":
                q, k = F.elu(q) + 1, F.elu(k) + 1
                state = torch.cumsum(torch.einsum("nhld,nhle->nhlde", k, v), 2)
                found = torch.einsum("nhld,nhlde->nhle", q, state) / (q * k.cumsum(2)).sum(-1, keepdim=True)
            case "retention":
                decay = torch.where(distance >= 0, 0.9 ** distance.clamp(min=0).float(), 0.0)
                found = (q @ k.transpose(-1, -2) * decay) @ v
            case "fourier":
                return self.last(torch.fft.fft(torch.fft.fft(x, dim=-1), dim=-2).real)
            case _:
                raise ValueError(self.kind)
        return self.last(found.transpose(1, 2).reshape(n, length, 16))


class Encoder(nn.Module):
    def __init__(self, first: bool) -> None:
        super().__init__()
        self.embed, self.positions = nn.Embedding(50, 16), nn.Embedding(32, 16)
        layer = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True, norm_first=first, activation=F.gelu)
        self.inner = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.embed(tokens) + self.positions(torch.arange(tokens.shape[1]))
        return self.inner(x, src_key_padding_mask=tokens == 0)


class Translator(nn.Module):
    """Encoder and decoder, with a causal mask."""

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.inner = nn.Embedding(50, 16), nn.Transformer(16, 4, 1, 1, 32, batch_first=True)

    def forward(self, tokens: Tensor, target: Tensor) -> Tensor:
        length = target.shape[1]
        mask = torch.triu(torch.full((length, length), float("-inf")), 1)
        return self.inner(self.embed(tokens), self.embed(target), tgt_mask=mask) @ self.embed.weight.T


class Latents(nn.Module):
    """Learned vectors attend to the sequence, then to themselves (Perceiver, Set Transformer)."""

    def __init__(self) -> None:
        super().__init__()
        self.latents = nn.Parameter(torch.randn(4, 16))
        self.cross, self.own = (nn.MultiheadAttention(16, 2, batch_first=True) for _ in range(2))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        latents = self.latents[None].expand(x.shape[0], -1, -1)
        latents, weights = self.cross(latents, x, x)
        return latents + self.own(latents, latents, latents)[0], weights


class Pointer(nn.Module):
    """Three choices among the elements, none twice."""

    def __init__(self) -> None:
        super().__init__()
        self.cell, self.query, self.key = nn.GRUCell(16, 16), nn.Linear(16, 16), nn.Linear(16, 16)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        h, y = x.mean(1), x[:, 0]
        banned, found, scores = torch.zeros(x.shape[:2]), [], []
        for _ in range(3):
            h = self.cell(y, h)
            score = torch.einsum("nd,nld->nl", self.query(h), self.key(x)) / 4 - 1e4 * banned
            at = score.argmax(-1)
            y = x[torch.arange(x.shape[0]), at]
            banned = banned + F.one_hot(at, x.shape[1]).float()
            found.append(at)
            scores.append(score.softmax(-1))
        return torch.stack(found, 1), torch.stack(scores, 1)


class Selective(nn.Module):
    """A state space model whose scan is a sum of logarithms (Mamba)."""

    def __init__(self) -> None:
        super().__init__()
        self.step, self.into, self.out = nn.Linear(16, 16), nn.Linear(16, 4), nn.Linear(16, 4)
        self.rate = nn.Parameter(torch.rand(16, 4))

    def forward(self, x: Tensor) -> Tensor:
        step = F.softplus(self.step(x)) * 0.1
        decay = torch.cumsum(-step[..., None] * self.rate.exp(), 1)
        state = torch.cumsum(self.into(x)[:, :, None] * (step * x)[..., None] * torch.exp(-decay), 1) * decay.exp()
        return (state * self.out(x)[:, :, None]).sum(-1) + x


class LongConvolution(nn.Module):
    """A convolution as long as the signal, by way of its spectrum (S4, Hyena)."""

    def __init__(self) -> None:
        super().__init__()
        self.rate, self.scale = nn.Parameter(torch.rand(4, 1)), nn.Parameter(torch.randn(4, 1))

    def forward(self, x: Tensor) -> Tensor:
        length = x.shape[-1]
        kernel = self.scale * torch.exp(-self.rate * torch.arange(length))
        product = torch.fft.rfft(F.pad(x, (0, length))) * torch.fft.rfft(F.pad(kernel, (0, length)))
        return torch.fft.irfft(product, n=2 * length)[..., :length]


class Spectrogram(nn.Module):
    """Log mel features and a classifier; the frames are a convolution with windowed waves."""

    def __init__(self) -> None:
        super().__init__()
        n = torch.arange(32.0)
        waves = torch.outer(torch.arange(17.0), n) * (2 * math.pi / 32)
        window = torch.hann_window(32)
        self.waves = nn.Buffer(torch.cat([waves.cos() * window, -waves.sin() * window])[:, None])
        self.mel, self.last = nn.Buffer(torch.rand(8, 17)), nn.Conv1d(8, 5, 3)

    def forward(self, wave: Tensor) -> Tensor:
        a, b = F.conv1d(F.pad(wave[:, None], (16, 16), mode="reflect"), self.waves, stride=8).chunk(2, 1)
        mel = torch.log10((self.mel @ (a**2 + b**2)).clamp(min=1e-10))
        mel = torch.maximum(mel, mel.amax((1, 2), keepdim=True) - 8.0)
        return self.last(mel).mean(-1)


class ShortTime(nn.Module):
    """torch.stft, its magnitudes and phases."""

    def forward(self, wave: Tensor) -> tuple[Tensor, Tensor]:
        found = torch.view_as_real(torch.stft(wave, 32, 8, window=torch.hann_window(32), return_complex=True))
        return found.square().sum(-1).sqrt(), torch.atan2(found[..., 1] + 1e-3, found[..., 0].abs() + 1e-2)


class Convolved(nn.Module):
    """Kernels of three widths over embedded text, the largest of each (text CNN)."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(50, 12, padding_idx=0)
        self.convs = nn.ModuleList(nn.Conv1d(12, 4, k, padding=k - 1) for k in (2, 3, 4))

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.embed(tokens).transpose(-1, -2)
        return torch.cat([F.relu(conv(x)).amax(-1) for conv in self.convs], 1)


class Beam(nn.Module):
    """A step of a beam search: the best beams over beams and words, reordered states."""

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.cell = nn.Embedding(20, 16), nn.GRUCell(16, 16)

    def forward(self, x: Tensor, scores: Tensor) -> tuple[Tensor, ...]:
        n, beams, _ = x.shape
        logits = (self.cell(x.flatten(0, 1)) @ self.embed.weight.T).log_softmax(-1).view(n, beams, 20)
        best, at = (scores[..., None] + logits).flatten(1).topk(3, -1)
        beam, word = torch.div(at, 20, rounding_mode="trunc"), at.remainder(20)
        state = x.gather(1, beam[..., None].expand(-1, -1, 16)) + self.embed(word)
        return best, beam, word, state


class Viterbi(nn.Module):
    """The best path through six steps of a chain."""

    def __init__(self) -> None:
        super().__init__()
        self.emit, self.move = nn.Linear(16, 5), nn.Parameter(torch.randn(5, 5))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        scores = self.emit(x[:, :5])
        total, back = scores[:, 0], []
        for step in range(1, 5):
            total, at = (total[:, :, None] + self.move).max(1)
            total = total + scores[:, step]
            back.append(at)
        best, at = total.max(-1)
        path = [at]
        for step in reversed(back):
            path.append(step.gather(1, path[-1][:, None])[:, 0])
        return best, torch.stack(path[::-1], 1)


class Looped(nn.Module):
    """A loop as long as the sequence, and a branch within."""

    def __init__(self) -> None:
        super().__init__()
        self.cell, self.gate = nn.Linear(32, 16), nn.Linear(32, 16)

    def forward(self, x: Tensor) -> Tensor:
        h = torch.zeros(x.shape[0], 16)
        for step in range(x.shape[1]):
            both = torch.cat([x[:, step], h], 1)
            h = h + self.gate(both).sigmoid() * (self.cell(both).tanh() - h)
            if bool(h.sum() > 0.0):
                h = h * 0.5
        return h


class Halting(nn.Module):
    """As many steps as it takes for a norm to fall."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(16, 16)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        steps = torch.zeros(1, dtype=torch.int64)
        while bool(x.abs().max() > 0.5):
            x = self.inner(x).tanh() * 0.6
            steps = steps + 1
        return x, steps


def pair(batch: int, length: int) -> dict[str, Tensor]:
    return tokens(batch, length) | {"target": torch.randint(0, 50, (batch, length + 2))}


def wave(batch: int, length: int) -> dict[str, Tensor]:
    return {"wave": torch.randn(batch, 32 * length)}


def beams(batch: int, length: int) -> dict[str, Tensor]:
    return {"x": torch.randn(batch, length, 16), "scores": torch.randn(batch, length)}


RECURRENCES: dict[str, tuple[type[nn.RNNBase], dict[str, bool | int | str]]] = {
    "lstm": (nn.LSTM, {}),
    "lstm-bidirectional": (nn.LSTM, {"bidirectional": True}),
    "lstm-stacked": (nn.LSTM, {"num_layers": 2}),
    "lstm-projected": (nn.LSTM, {"proj_size": 4}),
    "gru": (nn.GRU, {}),
    "gru-bidirectional-stacked": (nn.GRU, {"bidirectional": True, "num_layers": 2}),
    "rnn-tanh": (nn.RNN, {}),
    "rnn-relu": (nn.RNN, {"nonlinearity": "relu", "bias": False}),
}
ATTENTIONS = ("causal", "grouped", "alibi", "relative", "rotary", "windowed", "linear", "causal-linear", "retention",
              "fourier")  # fmt: skip


def recurrent(name: str) -> Network:
    kind, options = RECURRENCES[name]
    return Network(lambda: Recurrent(kind, **options), tokens)


def attention(kind: str) -> Network:
    return Network(lambda: Attention(kind), sequence)


SEQUENCE_NETWORKS = (
    {name: recurrent(name) for name in RECURRENCES}
    | {f"attention-{kind}": attention(kind) for kind in ATTENTIONS}
    | {
        "cells-unrolled": Network(Cells, sequence),
        "crnn": Network(Recognizer, signal),
        "wavenet": Network(Causal, signal),
        "encoder-norm-last": Network(lambda: Encoder(False), tokens),
        "encoder-norm-first": Network(lambda: Encoder(True), tokens),
        "translator": Network(Translator, pair),
        "perceiver-latents": Network(Latents, sequence),
        "pointer-network": Network(Pointer, sequence),
        "selective-scan": Network(Selective, sequence),
        "long-convolution": Network(LongConvolution, signal),
        "log-mel": Network(Spectrogram, wave),
        "short-time-fourier": Network(ShortTime, wave),
        "text-cnn": Network(Convolved, tokens),
        "beam-step": Network(Beam, beams),
        "viterbi": Network(Viterbi, sequence),
        "scripted-loop": Network(Looped, sequence, is_scripted=True),
        "scripted-while": Network(Halting, sequence, is_scripted=True),
    }
)
