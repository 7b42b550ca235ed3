"""Gradescope's autograder: the zip to upload, and the program that runs in its container.

In: a lab and a seed (`autograder_zip`), or the container's folder (`run_autograder`). Out: the
bytes of the zip, or results/results.json. `setup.sh` and `run_autograder` are the scripts that
Gradescope calls.

May import `authoring.release` for the zip, and everything that `grader.export` may import.
"""
