"""The command line: `grader COMMAND`. Commands import what they need when they run, so that
`grader --help` is quick and a check loads nothing that it does not use.
"""
