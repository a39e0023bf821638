"""Provenance analysis: the graph inputs that integer elements come from, and the relations between tensors that rules,
which see one node, cannot express.
"""
