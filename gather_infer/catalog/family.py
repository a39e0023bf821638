"""Which operators are of the gather family; it reads rules alone, as a summary of a file needs no inference."""

from __future__ import annotations

from functools import cache

from gather_infer.domains import canonical_domain
from gather_infer.ops import standard_rules


@cache
def is_gather(domain: str, op_type: str) -> bool:
    """Whether any version of an operator gathers: what it gives are elements that an input points at."""
    rules = standard_rules().get(canonical_domain(domain))
    return rules is not None and any(entry.traits.gathers for entry in rules.versions(op_type))
