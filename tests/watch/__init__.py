"""Kernels with expected findings, and clean variants; see tests/simulator/test_watch.py."""
