"""Alembic's environment: run the steps on the given connection, in its transaction.

A change of tables.py needs a new file in versions/ that names the previous one as its
`down_revision`, database.LATEST_REVISION set to it, and a new sqlite.sql, which a new file's tables
are made from (python -m tests.gradebook.schema). Tests compare the tables with the steps.
"""

from __future__ import annotations

from alembic import context

from grader.gradebook.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    render_as_batch=True,
)
context.run_migrations()
