"""Sizes that are asked for, required, computed from shapes, or told by a later node."""
