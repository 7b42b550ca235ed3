"""Grades in the forms that other systems read: one file a format, found by its name.

A format is a module with

    export(rows, options) -> str    the document; the first line of its docstring says what it is
    unfit(row, options) -> str      why a row cannot be told in it, "" when it can
    EACH                            whether every submission gets a document of its own
    SUFFIX                          how its file's name ends
    UNIQUE                          whether a student may have one row only (not, when left out)
    READER                          "student": grades are redacted first; or "staff"

`_` in a module's name is `-` in the format's. Nothing here reads or writes a file but `container`.
"""
