"""One answer, in pieces: an SDK gets as many as the upstream has words, each once, and the counts at the end."""

from __future__ import annotations

import pytest

from matrix.loopback import Loopback, surfaces, upstreams, words_in
from sdk_surfaces import Surface

WORDS = "One two three four five."
COUNTS = {
    "openai-chat": "prompt_tokens",
    "openai-responses": "input_tokens",
    "anthropic-messages": "input_tokens",
    "google-generate-content": "promptTokenCount",
    "google-interactions": "total_input_tokens",
}
ENDS = {
    "openai-chat": "length",
    "openai-responses": "max_output_tokens",
    "anthropic-messages": "max_tokens",
    "google-generate-content": "MAX_TOKENS",
    "google-interactions": "incomplete",
}


@surfaces
@upstreams
@pytest.mark.parametrize("mode", ["stream", "async stream"])
def test_what_the_upstream_says_piece_by_piece(
    house: Loopback, surface: type[Surface], protocol: str, mode: str
) -> None:
    talk = house.talk(surface, protocol)
    if surface.protocol == "openai-chat":  # which counts a stream only on request
        talk.sdk.settings = {"stream_options": {"include_usage": True}}
    talk.sdk.ask(f"[[reason Hm.]] {WORDS} [[usage input=70]]")
    said = talk.call(mode)
    assert said.text == WORDS and not said.calls and said.model == talk.sdk.alias
    pieces = [word for event in talk.sdk.events for word in words_in(event, WORDS)]
    assert pieces == WORDS.split(), "each word is a piece, and comes once"
    assert f"'{COUNTS[surface.protocol]}': 70" in str(talk.sdk.events[-2:])
    house.until(lambda: house.seen[0].ended != "open")  # the server's thread notes the end after the client has read it
    (seen,) = house.seen
    assert seen.ended in ("done", "closed")


@surfaces
@upstreams
def test_a_stream_that_stops_early_says_why(house: Loopback, surface: type[Surface], protocol: str) -> None:
    talk = house.talk(surface, protocol)
    talk.sdk.ask(f"{WORDS} [[stop length]]")
    said = talk.call("stream")
    assert said.text == "One two"
    assert f"'{ENDS[surface.protocol]}'" in str(talk.sdk.events[-3:])
