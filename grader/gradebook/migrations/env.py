"""What alembic runs: the steps on the connection, and in the transaction, that it is given."""

from __future__ import annotations

from alembic import context

from grader.gradebook.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    render_as_batch=True,
)
context.run_migrations()
