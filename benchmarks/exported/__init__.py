"""Architectures for `benchmarks/exports.py`, and how one is exported. Its modules import torch."""
