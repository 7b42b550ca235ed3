"""An executable specification of data races, and generated kernels to compare the core with it."""
