"""Making fixed sizes dynamic: the reverse of freezing."""

from gather_infer.unfreezing.blocked import Blocked
from gather_infer.unfreezing.result import RowCheck, UnfreezeResult
from gather_infer.unfreezing.unfreeze import unfreeze

__all__ = ["Blocked", "RowCheck", "UnfreezeResult", "unfreeze"]
