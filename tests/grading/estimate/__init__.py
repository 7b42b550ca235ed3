"""Estimates of times: the model, its fit, machine files, and what `grader check` shows."""
