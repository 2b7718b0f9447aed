"""Images: their bytes arrive, and so does their address where a client has no more than that."""

from __future__ import annotations

import json

import pytest

from matrix.loopback import Loopback, surfaces, upstreams
from sdk_surfaces import Surface

# One pixel, https://www.w3.org/TR/png-3/
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
ADDRESS = "https://example.org/oslo.png"


@surfaces
@upstreams
@pytest.mark.parametrize("mode", ["plain", "async stream"])
def test_an_image_is_seen(house: Loopback, surface: type[Surface], protocol: str, mode: str) -> None:
    talk = house.talk(surface, protocol)
    talk.sdk.show("What is this?", "image/png", PIXEL)
    said = talk.call(mode)
    assert said.text == "What is this? [image image/png]"
    # Google's SDK spells base64 in the alphabet of URLs.
    sent = json.dumps(house.seen[0].body).replace("-", "+").replace("_", "/")
    assert PIXEL in sent, "byte for byte"
    talk.sdk.ask("And this?")
    assert talk.call(mode).text == "And this?", "and it stays in the history"


@surfaces
@upstreams
@pytest.mark.parametrize("mode", ["stream", "async plain"])
def test_the_address_of_an_image(house: Loopback, surface: type[Surface], protocol: str, mode: str) -> None:
    talk = house.talk(surface, protocol)
    talk.sdk.show("What is this?", "image/png", ADDRESS)
    assert talk.call(mode).text.startswith("What is this? [image ")
    assert ADDRESS in json.dumps(house.seen[0].body)
