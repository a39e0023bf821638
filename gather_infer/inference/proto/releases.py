"""Releases of onnx: the opsets and IR versions that this package knows, whichever onnx is installed.

https://github.com/onnx/onnx/blob/main/docs/Versioning.md#released-versions
"""

from __future__ import annotations

from typing import Final, NamedTuple

import onnx
from onnx.helper import VERSION_TABLE


class Release(NamedTuple):
    """A release of onnx with its IR version and its newest opset of each domain."""

    name: str
    ir_version: int
    onnx: int
    ml: int = 0
    training: int = 0


_KNOWN: Final = (
    # of onnx's own table, the releases after 1.16, the oldest that is supported
    Release("1.17.0", 10, 22, 5, 1),
    Release("1.18.0", 11, 23, 5, 1),
    Release("1.19.0", 12, 24, 5, 1),
    Release("1.20.0", 13, 25, 5, 1),
    Release("1.21.0", 13, 26, 5, 1),
    Release("1.22.0", 13, 27, 5, 1),
    Release("1.23.0", 14, 28, 5, 1),
)

INSTALLED_OPSET: Final[int] = onnx.defs.onnx_opset_version()
"""The newest opset of ai.onnx that the installed onnx knows."""

RELEASES: Final[tuple[Release, ...]] = (
    *(Release(str(row[0]), *map(int, row[1:5])) for row in VERSION_TABLE),
    *(release for release in _KNOWN if release.onnx > INSTALLED_OPSET),
)
"""All releases, oldest first: those of the installed onnx, and newer ones."""

NEWEST_OPSET: Final = max(INSTALLED_OPSET, _KNOWN[-1].onnx)
"""The newest known opset of ai.onnx."""

NEWEST_IR_VERSION: Final[int] = max(int(onnx.IR_VERSION), _KNOWN[-1].ir_version)
"""The newest known IR version."""

NEWEST_ML_OPSET: Final = max(release.ml for release in RELEASES)
"""The newest known opset of ai.onnx.ml."""


def ir_version_of(opset: int) -> int:
    """The oldest IR version of a release with opset `opset` of ai.onnx; the newest known one for a later opset."""
    return min((r.ir_version for r in RELEASES if r.onnx >= opset), default=NEWEST_IR_VERSION)
