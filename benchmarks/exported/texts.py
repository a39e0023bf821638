"""Placeholder."""
from exported.architecture import Architecture
TEXTS: dict[str, Architecture] = {}
