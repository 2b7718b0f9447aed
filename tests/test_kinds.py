"""A document that plainly is of another kind than the given one is refused, and no other is.

What each kind looks like is in the fixtures; `test_law_identity` has every recorded document read as what it is.
"""

from __future__ import annotations

from typing import Any

import pytest

import unified_llm as ul
from corpus import PROTOCOLS, fixtures

Node = dict[str, Any]
MISTAKES = [
    ("request", "response"),
    ("request", "error"),
    ("response", "request"),
    ("response", "error"),
    ("error", "request"),
]
SAYS_NOTHING = {
    # Goes on with an earlier answer and has no more, or an input that is null.
    "openai-responses/request/no_input",
    "google-interactions/request/input_null",
    # The body of an error in place of an answer, and an error that is nothing but its message.
    "anthropic-messages/response/error_body",
    "openai-responses/error/404_bare_object",
}


@pytest.mark.parametrize("protocol", PROTOCOLS.values())
@pytest.mark.parametrize(("kind", "called"), MISTAKES)
def test_a_document_of_another_kind_is_refused(protocol: str, kind: str, called: str) -> None:
    target = "openai-responses" if protocol == "openai-chat" else "openai-chat"
    bodies = [record["body"] for record in fixtures(protocol, kind) if record["id"] not in SAYS_NOTHING]
    assert len(bodies) > 10
    named = 0
    for body in bodies:
        with pytest.raises(ul.InvalidBody) as refused:
            ul.convert(body, source=protocol, target=target, kind=called)
        with pytest.raises(ul.InvalidBody) as unread:
            ul.read(body, protocol, called)
        assert refused.value.path == unread.value.path
        if refused.value.reason.startswith("the body is of kind"):
            assert refused.value.path.removeprefix("/") in body
            assert f"the body is of kind {kind!r}, but kind={called!r} was passed" in refused.value.reason
            named += 1
    assert named > 3


ODD: list[tuple[str, str, Node]] = [
    ("openai-chat", "response", {"error": {"message": "no"}}),
    ("openai-chat", "response", {"id": "c", "object": "chat.completion", "choices": None}),
    ("openai-chat", "response", {"choices": [], "messages": [{"role": "user", "content": "an echo"}]}),
    ("openai-responses", "request", {"model": "m", "previous_response_id": "resp_1"}),
    ("openai-responses", "response", {"id": "r", "output": [], "input": "an echo"}),
    ("anthropic-messages", "response", {"type": "error", "error": {"type": "api_error", "message": "no"}}),
    ("google-interactions", "response", {"id": "v1", "status": "completed", "input": "an echo"}),
    ("google-interactions", "request", {"model": "m"}),
    ("google-generate-content", "response", {"usageMetadata": {"promptTokenCount": 1}}),
    ("google-generate-content", "error", {"message": "no"}),
]


@pytest.mark.parametrize(("protocol", "kind", "body"), ODD)
def test_a_document_that_is_only_odd_is_read(protocol: str, kind: str, body: Node) -> None:
    assert ul.convert(body, source=protocol, target=protocol, kind=kind).value == body
