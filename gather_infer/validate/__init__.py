"""What can go wrong when a model runs, judged from its facts."""

from .bounds import verdict, verdicts
from .condition import Condition, Elements
from .verdict import Kind, Outside, Verdict

__all__ = ["Condition", "Elements", "Kind", "Outside", "Verdict", "verdict", "verdicts"]
