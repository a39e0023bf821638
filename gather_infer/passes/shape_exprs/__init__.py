"""Shape-computation rewriting: compute each size once, in as few nodes as possible."""
