"""Semantics shared by rules: broadcasting, element arithmetic, indexing, sliding windows, preconditions on inputs."""
