"""Which line is to blame for a wrong output: found by trying small changes of the kernel."""
