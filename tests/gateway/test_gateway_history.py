"""How much of a conversation one request may go on from."""

from __future__ import annotations

import pytest

from gateway.serving import House
from unified_llm.gateway.state import history_limit


def test_a_conversation_that_is_too_large_is_not_continued(
    house: House, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is stored is compressed: a small request could take any amount of memory."""
    gateway = house.gateway(state={"url": database})
    monkeypatch.setattr(history_limit, "_MOST", 30_000)
    previous = None
    for status in (200, 200, 200, 413):
        body = {"model": "openai-chat", "input": "a" * 12_000, "previous_response_id": previous}
        done = house.ask(gateway, "POST", "/v1/responses", json=body)
        assert done.status_code == status, done.text
        previous = done.json()["id"] if status == 200 else previous
    assert done.json()["error"]["code"] == "conversation_too_large" and len(house.seen) == 3
    path = f"/v1/responses/{previous}"
    assert house.ask(gateway, "GET", f"{path}/input_items").status_code == 413
    assert house.ask(gateway, "GET", path).json()["id"] == previous, "the response alone is read"
    assert house.ask(gateway, "DELETE", path).status_code == 200
    assert house.ask(gateway, "GET", path).status_code == 404
