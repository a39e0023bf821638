"""Making fixed sizes dynamic: the reverse of freezing."""

from gather_infer.unfreezing.result import Blocked, UnfreezeResult
from gather_infer.unfreezing.unfreeze import unfreeze

__all__ = ["Blocked", "UnfreezeResult", "unfreeze"]
