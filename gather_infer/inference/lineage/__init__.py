"""What a rule cannot see: where the elements of a tensor come from, and what it has to do with another."""
