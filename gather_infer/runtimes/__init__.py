"""Runtimes that run models in a child process, because a runtime may crash or hang.

This package imports none of its modules: the child process starts faster if it imports only the modules it needs.
"""
