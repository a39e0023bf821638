"""Catalog of the supported operators: derived from schemas, rule sets and lowerings, and probed with small inputs."""
