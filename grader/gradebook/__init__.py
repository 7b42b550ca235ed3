"""The gradebook: submissions, attempts, grades, overrides and an audit, in SQLite or PostgreSQL.

In: a database URL (`database`), the course (`course`, with `policy`), submissions and grades as
JSON. Out: frozen values (`values`), and tables as text and JSON (`entries`). `book` is the one
public object; each of its methods is one transaction of `submissions`, `attempts`, `entries` or
`ledger` (students and the audit, which `chain` links by digests). `tables` has the schema,
`migrations` its history.

May import `labs`, `reports.printable` and `faults`; never grades anything.
"""
