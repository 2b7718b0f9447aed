"""How many bytes each tenant has stored, but for files, which have a quota of their own.

The database counts by triggers: whatever writes or deletes a row, nodes of the version before included, changes the
count in the same transaction. On PostgreSQL each change is a row of its own (`place`), so that no transaction waits for
another one; the count of a tenant is their sum, and who reads it makes one row of them (`access/space.py`).
"""

from __future__ import annotations

from collections.abc import Iterator

import sqlalchemy as sa
from alembic.operations import Operations

revision = "0007"
down_revision = "0006"

_ROW = 200  # bytes that a row takes beside its data
_COUNTED = {
    "responses": ("request", "response"),
    "runs": ("head",),
    "vault": ("value",),
    "conversations": ("head",),
    "conversation_items": ("data",),
    "file_uses": (),
}
_CHANGED = {"runs": "head", "vault": "value", "conversations": "head"}  # the only columns with data that change


def upgrade(op: Operations) -> None:
    """Create the table, count what is there, and have the rest counted."""
    op.create_table(
        "stored_bytes",
        sa.Column("tenant", sa.String(255), primary_key=True),
        sa.Column("place", sa.BigInteger, primary_key=True),
        sa.Column("used", sa.BigInteger, nullable=False),
    )
    is_postgresql = op.get_context().dialect.name == "postgresql"
    length = "octet_length" if is_postgresql else "length"
    if is_postgresql:
        # What nodes of the version before write in the meantime waits, and is counted. All tables or none: they lock
        # tables in another order, and would wait for this transaction while it waits for them.
        op.execute(
            "DO $$ BEGIN FOR attempt IN 1..150 LOOP BEGIN "
            f"LOCK TABLE {', '.join([*_COUNTED, 'segments'])} IN SHARE ROW EXCLUSIVE MODE NOWAIT; EXIT; "
            "EXCEPTION WHEN lock_not_available THEN PERFORM pg_sleep(0.02); END; END LOOP; END $$"
        )
    counts = [f"SELECT tenant, {_size(name, '', length)} AS size FROM {name}" for name in _COUNTED]
    log = f"SELECT tenant, {_ROW} + {length}(data) AS size FROM segments JOIN runs ON runs.id = segments.run"
    op.execute(
        "INSERT INTO stored_bytes (tenant, place, used) "
        f"SELECT tenant, 0, sum(size) FROM ({' UNION ALL '.join([*counts, log])}) AS counted GROUP BY tenant"
    )
    if is_postgresql:
        op.execute("CREATE SEQUENCE stored_bytes_places")
    for name, when, tenant, delta in _changes(length):
        if is_postgresql:
            _on_postgresql(op, name, when, tenant, delta)
        else:
            _on_sqlite(op, name, when, tenant, delta)


def _size(table: str, row: str, length: str) -> str:
    return " + ".join([str(_ROW), *(f"{length}({row}{column})" for column in _COUNTED[table])])


def _changes(length: str) -> Iterator[tuple[str, str, str, str]]:
    """What changes the count: a name, the event, whose it is, and by how much."""
    for table in _COUNTED:
        yield f"{table}_added", f"AFTER INSERT ON {table}", "NEW.tenant", _size(table, "NEW.", length)
        gone = _size(table, "OLD.", length)
        if table == "runs":  # before it is deleted: its log goes with it
            gone += f" + (SELECT coalesce(sum({_ROW} + {length}(data)), 0) FROM segments WHERE run = OLD.id)"
        yield f"{table}_gone", f"BEFORE DELETE ON {table}", "OLD.tenant", f"-({gone})"
        if column := _CHANGED.get(table):
            delta = f"{length}(NEW.{column}) - {length}(OLD.{column})"
            yield f"{table}_changed", f"AFTER UPDATE OF {column} ON {table}", "NEW.tenant", delta
    owner = "(SELECT tenant FROM runs WHERE id = NEW.run)"
    yield "segments_added", "AFTER INSERT ON segments", owner, f"{_ROW} + {length}(NEW.data)"


def _on_sqlite(op: Operations, name: str, when: str, tenant: str, delta: str) -> None:
    # Not an upsert: in a trigger its conflicts may be resolved as those of the statement outside.
    op.execute(
        f"CREATE TRIGGER stored_bytes_{name} {when} FOR EACH ROW BEGIN "
        f"INSERT INTO stored_bytes (tenant, place, used) SELECT {tenant}, 0, 0 WHERE NOT EXISTS "
        f"(SELECT 1 FROM stored_bytes WHERE tenant = {tenant} AND place = 0); "
        f"UPDATE stored_bytes SET used = used + ({delta}) WHERE tenant = {tenant} AND place = 0; END"
    )


def _on_postgresql(op: Operations, name: str, when: str, tenant: str, delta: str) -> None:
    row = "OLD" if tenant.startswith("OLD") else "NEW"
    op.execute(
        f"CREATE FUNCTION stored_bytes_{name}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        "INSERT INTO stored_bytes (tenant, place, used) "
        f"VALUES ({tenant}, nextval('stored_bytes_places'), {delta}); RETURN {row}; END $$"
    )
    op.execute(f"CREATE TRIGGER stored_bytes_{name} {when} FOR EACH ROW EXECUTE FUNCTION stored_bytes_{name}()")
