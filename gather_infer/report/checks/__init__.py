"""Checks, a module for each form."""
