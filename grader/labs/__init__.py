"""Read a lab's folder, check it, and make its cases ready to launch.

In: `lab.yaml`, `thresholds.yaml`, `reference.py` and a student's `answers.yaml`. Out: a frozen
Lab, the PreparedCase of each case (a Launch and the expected outputs with their error bounds), and
the correct answers of the quiz. Every mistake in a lab is a LabFault with file, line and key.

`model` holds the values, `schema` the keys of lab.yaml, `reading` turns one into the other.
Imports `faults` and `launch` only.
"""
