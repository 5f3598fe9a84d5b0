"""Which site a database is of."""

import sqlalchemy as sa
from alembic import op

revision, down_revision, branch_labels, depends_on = "0004", "0003", None, None


def upgrade() -> None:
    op.create_table("board_identity", sa.Column("id", sa.String(32), primary_key=True))


def downgrade() -> None:
    op.drop_table("board_identity")
