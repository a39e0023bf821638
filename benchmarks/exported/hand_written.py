"""Placeholder."""
from exported.architecture import Architecture
HAND_WRITTEN: dict[str, Architecture] = {}
