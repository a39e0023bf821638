"""Families of generated models of about n nodes: `FAMILIES`. benchmarks/scaling.py times the commands on them."""

from scaling_families import bodies, chains, dims, shared, wide
from scaling_families.build import FAMILIES

__all__ = ["FAMILIES", "bodies", "chains", "dims", "shared", "wide"]
