"""One answer, whole: the upstream's answer comes through every SDK, under the requested model's name."""

from __future__ import annotations

import pytest

from matrix.loopback import Loopback, surfaces, upstreams
from sdk_surfaces import Surface


@surfaces
@upstreams
@pytest.mark.parametrize("mode", ["plain", "async plain"])
def test_what_the_upstream_says(house: Loopback, surface: type[Surface], protocol: str, mode: str) -> None:
    talk = house.talk(surface, protocol)
    talk.sdk.ask("[[reason Hm.]] Good morning, Oslo.")
    said = talk.call(mode)
    assert said.text.strip() == "Good morning, Oslo." and not said.calls
    assert said.model == talk.sdk.alias
    house.until(lambda: house.seen[0].ended != "open")  # the server's thread notes the end after the client has read it
    (seen,) = house.seen
    assert (seen.protocol, seen.ended) == (protocol, "done")
    talk.sdk.ask("And now?")
    assert talk.call(mode).text.strip() == "And now?"
