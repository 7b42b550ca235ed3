"""Alembic's environment: run the steps on the given connection, in its transaction."""

from __future__ import annotations

from alembic import context

from grader.gradebook.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    render_as_batch=True,
)
context.run_migrations()
