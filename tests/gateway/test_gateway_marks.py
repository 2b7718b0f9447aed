"""By which bytes a request is known that may name a file: those of its protocol, and of every spelling of it."""

from __future__ import annotations

import pytest

from unified_llm.gateway.state.references import has_references

ID, URI = b'{"file_id": "x"}', b'{"fileData": {"fileUri": "x"}}'
NAMES = {
    "openai-chat": (ID, b'{"fil\\u0065_id": "x"}'),
    "openai-responses": (ID,),
    "openai-responses:open-responses": (ID,),
    "anthropic-messages": (ID,),
    "google-generate-content": (URI, b'{"file_data": {"file_uri": "x"}}', b'{"cachedContent": "x"}',
                                b'{"cached_content": "x"}'),
    "google-interactions": (b'{"uri": "x"}', b'{"cached_content": "x"}'),
}  # fmt: skip


@pytest.mark.parametrize("protocol", NAMES)
def test_what_names_a_file_is_seen(protocol: str) -> None:
    assert all(has_references(protocol, each) for each in NAMES[protocol])
    assert not has_references(protocol, b'{"text": "a file, an id and \\u00e9"}')


@pytest.mark.parametrize("protocol", NAMES)
def test_a_long_request_names_a_file_anywhere(protocol: str) -> None:
    """A long text is searched in pieces, none of which may cut a name in two."""
    mark = next(each for each in NAMES[protocol] if has_references(protocol, each))
    for place in (0, *range(24_900, 25_010, 3), *range(49_900, 50_010, 3), 60_000):
        assert has_references(protocol, b"x" * place + mark + b"x" * 30_000)
    assert not has_references(protocol, b"x" * 100_000)
