"""How the tables came to be, step by step: Alembic runs on start what a database has not seen."""
