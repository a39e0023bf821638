"""The folding pass: nodes with a known result become constants."""
