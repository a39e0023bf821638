"""Placeholder."""
from exported.architecture import Architecture
PICTURES: dict[str, Architecture] = {}
