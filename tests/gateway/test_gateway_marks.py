"""By which bytes a request is known that may name a file: those of its protocol, and of every spelling of it."""

from __future__ import annotations

import json

import pytest

from unified_llm.gateway.state.file_references import has_references

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
def test_a_text_about_files_names_none(protocol: str) -> None:
    said = "file_id, fileUri, file_uri, uri, cachedContent and cached_content"
    quoted = json.dumps({key.strip(","): "x" for key in said.split()})
    assert not has_references(protocol, json.dumps({"text": said, "call": {"arguments": quoted}}).encode())
