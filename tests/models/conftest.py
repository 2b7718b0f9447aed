"""What tests of the catalogue share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from models.catalogues import SNAPSHOT
from unified_llm.models import catalog


@pytest.fixture
def own_catalogue(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The bundled snapshot, whatever is installed beside it, and the default again afterwards."""
    monkeypatch.delenv(catalog.ENVIRONMENT, raising=False)
    catalog.use(SNAPSHOT)
    yield
    catalog.use(None)
