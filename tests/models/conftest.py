"""What tests of the catalog share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from models.catalogs import SNAPSHOT
from unified_llm.models import catalog


@pytest.fixture
def own_catalog(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The bundled snapshot, whatever is installed beside it, and the default again afterwards."""
    monkeypatch.delenv(catalog.ENVIRONMENT, raising=False)
    catalog.use(SNAPSHOT)
    yield
    catalog.use(None)
