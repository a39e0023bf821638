"""Indices and cuts of axes with a freed size."""
