"""Placeholder."""
from exported.architecture import Architecture
SOUNDS_AND_SERIES: dict[str, Architecture] = {}
