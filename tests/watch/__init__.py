"""Kernels with what must be found in them, and clean twins; see tests/sim/test_watch.py."""
