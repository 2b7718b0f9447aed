"""What a gateway and its database spend on a request, an event and a commit: the constants of the capacity model.

`costs.json` has the figures that `--calibrate` measured. All are microseconds of processor time, except for the two
at the end, which are microseconds by the clock.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

FILE = Path(__file__).with_name("costs.json")


class Costs(NamedTuple):
    """Microseconds. A name ends with who spends them: `node` is a gateway process, `db` the database."""

    pass_request_node: float
    pass_event_node: float
    translate_request_node: float
    translate_event_node: float
    stored_sqlite_node: float  # a request whose response is stored, the commit included
    stored_request_node: float  # the same on PostgreSQL
    durable_sqlite_node: float  # an event of a background run, the commit included
    durable_event_node: float  # the same on PostgreSQL, less the commit, the row and the notice
    commit_node: float  # a group of the event log
    row_node: float  # one row of it
    commit_db: float
    row_db: float
    end_node: float  # the end of a run: a transaction of its own, without its notices
    end_db: float
    notice_node: float  # a commit that one listening node receives
    notice_db: float
    wake_node: float  # a reader on another node that looks into the log
    wake_db: float
    sweep_node: float  # a run in progress, each second, on every node
    sweep_db: float
    commit_clock: float  # between two commits with NOTIFY, which PostgreSQL makes one after the other
    silent_clock: float  # between two commits without, of eight connections at once


def known() -> Costs:
    """The figures that were measured last."""
    return Costs(**json.loads(FILE.read_text())["costs"])


def machine() -> str:
    """Where they were measured."""
    return str(json.loads(FILE.read_text())["machine"])
