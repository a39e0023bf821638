"""Work on many files: worker processes, executors, a cache of results, input folders and output paths."""
