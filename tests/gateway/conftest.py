"""One house for the folder, with an empty memory for each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("uvicorn")

from gateway import databases
from gateway.serving import House, Served
from unified_llm.gateway.state import counters
from unified_llm.gateway.state import database as database_module
from waiting import PATIENCE


@pytest.fixture(scope="session", autouse=True)
def _replayed_migrations() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(database_module, "upgrade_tables", databases.Replayed())
        yield


@pytest.fixture(scope="session", autouse=True)
def _patient() -> Iterator[None]:
    """A request waits for a count as long as it takes: a database of a busy machine is not one that hangs."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(counters, "_PATIENCE", PATIENCE)
        yield


@pytest.fixture(scope="session")
def _house() -> Iterator[House]:
    found = House()
    yield found
    found.close()


@pytest.fixture
def house(_house: House) -> Iterator[House]:
    _house.service.seen.clear()
    _house.service.stored.clear()
    _house.service.failed.clear()
    yield _house
    _house.leave()


@pytest.fixture(scope="session")
def _served(_house: House) -> Iterator[Served]:
    gateway = _house.gateway(gateway={"listen": "127.0.0.1:0"})
    _house.gateways.remove(gateway)
    with Served(gateway) as found:
        yield found


@pytest.fixture
def served(_served: Served, house: House) -> Served:
    """A gateway behind uvicorn that all tests share."""
    return _served


@pytest.fixture(scope="session")
def _postgres() -> Iterator[str]:
    if reason := databases.why_not():
        pytest.skip(reason)
    with databases.postgres() as url:
        yield url


@pytest.fixture
def postgresql(_postgres: str) -> str:
    """The URL of an empty database of PostgreSQL."""
    databases.execute(_postgres, "DROP SCHEMA public CASCADE", "CREATE SCHEMA public")
    return _postgres


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty database, of each kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/gateway.db"
    url: str = request.getfixturevalue("postgresql")
    return url
