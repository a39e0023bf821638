"""Output formats of `gather-infer check`, a module for each."""
