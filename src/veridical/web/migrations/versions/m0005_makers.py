"""Who made a team: the tries of all teams that one account made count together."""

from alembic import op

revision, down_revision, branch_labels, depends_on = "0005", "0004", None, None


def upgrade() -> None:
    # not in a batch: that would drop the table on SQLite, and what refers to it with it
    op.execute("ALTER TABLE teams ADD COLUMN maker_id INTEGER REFERENCES accounts (id)")
    op.create_index("ix_teams_maker_id", "teams", ["maker_id"])
    # of several members nobody knows who made it; somebody who was added must not answer for it
    mine = "SELECT account_id FROM team_members WHERE team_id = teams.id"
    alone = "(SELECT count(*) FROM team_members WHERE team_id = teams.id) = 1"
    op.execute(f"UPDATE teams SET maker_id = ({mine}) WHERE {alone}")


def downgrade() -> None:
    op.drop_index("ix_teams_maker_id", "teams")
    op.drop_column("teams", "maker_id")
