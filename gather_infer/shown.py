"""What results look like to those who only print them: for their `str`, and in notebooks.

The room that prints stands above those that make results, so its functions are looked up when they are asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


def shown(home: str, result: object) -> str:
    """The text that a function of `report` makes of a result, `module:function`; it gives lines."""
    module, _, name = home.partition(":")
    report: Any = import_module(f"gather_infer.report.{module}")
    return "\n".join(getattr(report, name)(result))
