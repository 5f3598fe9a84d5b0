"""What Alembic runs: the steps, on the connection that `veridical.web.database` gives."""

from __future__ import annotations

from alembic import context

from veridical.web.database import Base

context.configure(
    connection=context.config.attributes["connection"], target_metadata=Base.metadata, render_as_batch=True
)
with context.begin_transaction():
    context.run_migrations()
