"""The command line: `grader COMMAND`.

In: the words of a command. Out: a report on stdout, messages on stderr, files where asked, and an
exit code: 0 everything evaluated passes, 1 the submission falls short, 2 wrong usage or a fault of
a lab, 3 a system error. `app` puts the commands together and turns a Fault into a message and an
exit code. Commands import what they need when they run, so that `grader --help` is fast and a check
loads nothing that it does not use. This is the highest floor: it may import every package.
"""
