"""Kernels with what must be found in them, and clean twins; see tests/simulator/test_watch.py."""
