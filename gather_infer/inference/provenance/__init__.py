"""Provenance analysis: tracks which graph inputs integer elements come from, and relations between tensors.

Rules cannot express such relations, since each rule receives the facts of a single node.
"""
