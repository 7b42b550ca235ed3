"""Exports: grades in the formats that other systems read, one module per format.

In: ExportRow values (`formats`). Out: the document as text. A format is found by its name: module
`classroom50` is the format `classroom50`. A format module has

    export(rows, options) -> str       the document; its docstring is the format's line in the list
    row_problem(row, options) -> str   why a row cannot be exported, "" when it can
    EACH                               whether every submission gets a document of its own
    SUFFIX                             the suffix of the file
    UNIQUE                             whether a student may have one row only (default: no)
    READER                             "student": grades are redacted first; or "staff"

Only `container` reads and writes files. May import `gradebook` and below, never `batch`;
`container` also imports `authoring.release`.
"""
