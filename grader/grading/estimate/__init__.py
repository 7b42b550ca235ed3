"""Estimates of a kernel's time on a GPU that this machine does not have. They never earn points.

`model` computes a time from the work of a launch, `fit` finds its free numbers and its errors,
`machine` reads and writes what was measured of a GPU, `kernel` estimates a submission.
"""
