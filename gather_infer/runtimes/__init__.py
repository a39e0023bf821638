"""Models run by a runtime, in a process of its own that may crash or hang.

Import from the modules: the process itself needs few of them, and starts sooner without the others.
"""
