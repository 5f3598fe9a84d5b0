"""Boards and their hosts, teams and their tokens, entries and comparisons."""

import sqlalchemy as sa
from alembic import op

revision, down_revision, branch_labels, depends_on = "0002", "0001", None, None
MOMENT = sa.DateTime(timezone=True)


def _to(column: str) -> sa.ForeignKey:
    return sa.ForeignKey(column, ondelete="CASCADE")


def upgrade() -> None:
    op.create_table(
        "boards",
        sa.Column("id", sa.String(80), primary_key=True),
        sa.Column("benchmark", sa.String(200), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("split", sa.String(80), nullable=False),
        sa.Column("scheme", sa.String(80), nullable=False),
        sa.Column("status", sa.String(10), nullable=False),
        sa.Column("beside", sa.JSON()),
        sa.Column("made", MOMENT, nullable=False),
    )
    op.create_table(
        "board_hosts",
        sa.Column("board_id", sa.String(80), _to("boards.id"), primary_key=True),
        sa.Column("account_id", sa.Integer(), _to("accounts.id"), primary_key=True),
    )
    _teams()
    _entries()


def _teams() -> None:
    op.create_table(
        "teams",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("name", sa.String(60), nullable=False),
        sa.Column("key", sa.String(240), nullable=False, unique=True),
        sa.Column("made", MOMENT, nullable=False),
    )
    op.create_table(
        "team_members",
        sa.Column("team_id", sa.Integer(), _to("teams.id"), primary_key=True),
        sa.Column("account_id", sa.Integer(), _to("accounts.id"), primary_key=True),
    )
    op.create_index("ix_team_members_account_id", "team_members", ["account_id"])
    op.create_table(
        "tokens",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("digest", sa.String(64), nullable=False, unique=True),
        sa.Column("team_id", sa.Integer(), _to("teams.id"), nullable=False),
        sa.Column("name", sa.String(60), nullable=False),
        sa.Column("made", MOMENT, nullable=False),
    )
    op.create_index("ix_tokens_team_id", "tokens", ["team_id"])


def _entries() -> None:
    op.create_table(
        "entries",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("board_id", sa.String(80), _to("boards.id"), nullable=False),
        sa.Column("team_id", sa.Integer(), _to("teams.id")),
        sa.Column("kind", sa.String(10), nullable=False),
        sa.Column("name", sa.String(60), nullable=False),
        sa.Column("paper", sa.String(300), nullable=False),
        sa.Column("code", sa.String(300), nullable=False),
        sa.Column("public", sa.Boolean(), nullable=False),
        sa.Column("withdrawn", sa.Boolean(), nullable=False),
        sa.Column("removed", sa.String(300)),
        sa.Column("file", sa.String(80), nullable=False),
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.Column("status", sa.String(10), nullable=False),
        sa.Column("said", sa.Text(), nullable=False),
        sa.Column("scores", sa.JSON()),
        sa.Column("at", MOMENT, nullable=False),
        sa.Column("scored_at", MOMENT),
    )
    op.create_index("entries_board_team_at", "entries", ["board_id", "team_id", "at"])
    op.create_index("entries_status", "entries", ["status"])
    op.create_table(
        "marks",
        sa.Column("one", sa.String(32), _to("entries.id"), primary_key=True),
        sa.Column("other", sa.String(32), _to("entries.id"), primary_key=True),
        sa.Column("found", sa.JSON(), nullable=False),
    )


def downgrade() -> None:
    for name in ("marks", "entries", "tokens", "team_members", "teams", "board_hosts", "boards"):
        op.drop_table(name)
