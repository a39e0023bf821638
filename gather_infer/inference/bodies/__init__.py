"""Nodes with a body: If, Loop, Scan, SequenceMap and calls of functions."""
