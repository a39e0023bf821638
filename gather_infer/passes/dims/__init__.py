"""The sizes that a graph computes, computed anew: once each, and in as few nodes as can be."""
