"""Compressed answers: broken ones are errors, and cut ones are not taken for whole."""

from __future__ import annotations

import gzip
import json
import zlib

import httpx2
import pytest

import unified_llm as ul
from upstreams import CHAT, Canned

WHOLE = json.dumps(CHAT).encode()


def answered(content: bytes, encoding: str, status: int = 200) -> Canned:
    headers = {"content-type": "application/json", "content-encoding": encoding}

    class Raw(httpx2.SyncByteStream):
        def __iter__(self):  # type: ignore[no-untyped-def]
            yield content

    return Canned(lambda: httpx2.Response(status, headers=headers, stream=Raw()))


@pytest.mark.parametrize(("content", "encoding"), [(gzip.compress(WHOLE), "gzip"), (zlib.compress(WHOLE), "deflate")])
def test_a_whole_body_is_read_and_every_cut_one_is_not(content: bytes, encoding: str) -> None:
    assert ul.Client(answered(content, encoding).upstream).responses.create(input="Hi").output_text == "Hello"
    for missing in (1, 4, 8, 12, len(content) // 2):
        there = answered(content[:-missing], encoding)
        with pytest.raises(ul.ServerError, match="decoding the response failed"):
            ul.Client(there.upstream, retry=ul.Retry.never()).responses.create(input="Hi")


def test_what_is_not_compressed_at_all_failed_to_decode() -> None:
    there = answered(b"not gzip", "gzip")
    with pytest.raises(ul.ServerError, match="decoding the response failed") as caught:
        ul.Client(there.upstream, retry=ul.Retry.never()).responses.create(input="Hi")
    assert caught.value.status is None


@pytest.mark.parametrize(
    ("status", "kind"), [(400, ul.InvalidRequestError), (401, ul.AuthenticationError), (500, ul.ServerError)]
)
def test_an_error_that_cannot_be_decoded_is_its_status(status: int, kind: type[ul.APIError]) -> None:
    there = answered(b"not gzip", "gzip", status)
    with pytest.raises(kind, match=f"HTTP {status} without an error message") as caught:
        ul.Client(there.upstream, retry=ul.Retry.never()).responses.create(input="Hi")
    assert caught.value.status == status
