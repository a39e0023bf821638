"""Inference of nodes with bodies: If, Loop, Scan, SequenceMap, function calls and lowered nodes of dialects."""
