"""Autograders of other services: the files to upload, and the programs that grade there.

In: a lab and a seed (`autograder_zip`), or the container's folder (`run_autograder`). Out: the
bytes of the zip, or results/results.json. `setup.sh` and `run_autograder` are the scripts that
Gradescope calls. `classroom50` has the files and the program for Classroom 50, `github` a template
repository with a composite action.

May import `authoring.release` and `authoring.content` for a lab's public files, and everything that
`grader.export` may import.
"""
