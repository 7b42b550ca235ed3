"""Two kernels timed beside each other: what was seen, what it proves, and whether it was right."""
