"""Runtimes that run models in a child process, which may crash or hang.

Import from the modules: the child process needs few of them, and starts faster without the others.
"""
