"""Constants that stand for an old size, and values that nodes compute from them."""
