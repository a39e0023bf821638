"""Making fixed sizes dynamic: the reverse of freezing."""

from gather_infer.unfreezing.driver import unfreeze
from gather_infer.unfreezing.result import Blocked, RowCheck, UnfreezeResult

__all__ = ["Blocked", "RowCheck", "UnfreezeResult", "unfreeze"]
