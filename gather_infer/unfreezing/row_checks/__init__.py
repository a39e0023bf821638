"""Runs that compare the rows of a result with those of the original."""
