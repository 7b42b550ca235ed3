"""Mutants of a lab's solution: one small edit each, and whether the lab catches it."""
