"""Architectures for `benchmarks/exports.py`, and how one is exported. All modules but `manifest` import torch."""
