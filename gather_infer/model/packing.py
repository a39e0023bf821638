"""Elements narrower than a byte, packed as in `raw_data`: consecutive, from the lowest bit of the first byte on."""

from __future__ import annotations

from math import lcm
from typing import Any

import numpy as np
import numpy.typing as npt

Octets = npt.NDArray[np.uint8]


def unpack(raw: Octets, elements: int, width: int) -> Octets:
    """Unpack elements of `width` bits into the low bits of one byte each.

    raw      [ceil(elements * width / 8)]; the unused bits of the last byte are ignored
    result   [elements]
    """
    nbytes, count = _group(width)
    groups = -(-elements // count)
    padded = np.zeros((groups, nbytes), np.uint8)
    padded.reshape(-1)[: raw.size] = raw
    out = np.empty((groups, count), np.uint8)
    for i in range(count):
        at, shift = divmod(i * width, 8)
        wide = padded[:, at].astype(np.uint16)
        if shift + width > 8:
            wide |= padded[:, at + 1].astype(np.uint16) << 8
        out[:, i] = wide >> shift & ((1 << width) - 1)
    return out.reshape(-1)[:elements]


def pack(elements: npt.NDArray[Any], width: int) -> bytes:
    """Pack elements that are stored one per byte into raw form; the last byte is padded with zeros."""
    nbytes, count = _group(width)
    groups = -(-elements.size // count)
    padded = np.zeros((groups, count), np.uint8)
    padded.reshape(-1)[: elements.size] = elements.view(np.uint8)
    out = np.zeros((groups, nbytes + 1), np.uint8)
    for i in range(count):
        at, shift = divmod(i * width, 8)
        wide = padded[:, i].astype(np.uint16) << shift
        out[:, at] |= (wide & 0xFF).astype(np.uint8)
        out[:, at + 1] |= (wide >> 8).astype(np.uint8)
    return out[:, :nbytes].tobytes()[: (elements.size * width + 7) // 8]


def _group(width: int) -> tuple[int, int]:
    """The smallest number of bytes that hold a whole number of elements of `width` bits, and the number of elements."""
    bits = lcm(8, width)
    return bits // 8, bits // width
