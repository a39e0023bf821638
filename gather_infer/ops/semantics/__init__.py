"""Semantics shared by rules: broadcasting, element arithmetic, indexing, windows, preconditions on inputs."""
