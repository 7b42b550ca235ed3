"""Read what students submit: one file, a class's folder or zip archive, or a launch file.

In: a path. Out: a Submission (bytes and their SHA-256), a SubmissionSet with every student's file
whatever system it was downloaded from (`layouts` has one module for each), or a LaunchFile.

Submitted files may be hostile: links are not followed, nothing is unpacked to disk, and no more
of a file is read than a submission may hold. Imports `faults`, `launch` and `labs`.
"""
