"""Audio in pieces: parts of one recording, each in base64 of its own, which may end at any byte.

https://ai.google.dev/gemini-api/docs/speech-generation
"""

from __future__ import annotations

import binascii
from collections.abc import Iterable
from typing import Any

__all__ = ["format_of_data", "goes_on", "joined_base64"]

# Formats without a head: more of them goes on with the recording.
_HEADLESS = frozenset(
    f"audio/{name}" for name in "l16 pcm mulaw alaw basic pcmu pcma mp3 mpeg aac".split()
)  # fmt: skip


# How the base64 of a recording begins: a RIFF, an ID3 tag, or a frame of MPEG layer III.
_BEGINNINGS = {"UklGR": "wav", "SUQz": "mp3", **dict.fromkeys([f"//{char}" for char in "IJKLMNOPopqrstuv"], "mp3")}


def format_of_data(data: str) -> tuple[str, str]:
    """The format of audio that comes without one, of those that Chat takes, and how it was found.

    >>> format_of_data("SUQzBAA="), format_of_data("AAAA")
    (('mp3', 'read off the first bytes'), ('wav', 'the usual one'))
    """
    found = next((kind for start, kind in _BEGINNINGS.items() if data.startswith(start)), None)
    return (found, "read off the first bytes") if found else ("wav", "the usual one")


def goes_on(sounds: list[dict[str, Any]], part: dict[str, Any]) -> bool:
    """Whether a part of audio is more of those before it.

    >>> goes_on([{"data": "AA==", "media_type": "audio/L16;rate=24000"}], {"data": "AQ==", "media_type": "audio/wav"})
    False
    """
    kind = sounds[0].get("media_type")
    if type(kind) is not str or kind != part.get("media_type") or kind.partition(";")[0].lower() not in _HEADLESS:
        return False
    new = [part] if len(sounds) > 1 else [*sounds, part]
    return all(_bytes_of(each.get("data")) is not None for each in new)


def joined_base64(pieces: Iterable[str]) -> str:
    """The base64 of what these pieces are the base64 of, in their order.

    >>> joined_base64(["AA==", "AQI="])
    'AAEC'
    """
    return binascii.b2a_base64(b"".join(_bytes_of(piece) or b"" for piece in pieces), newline=False).decode()


def _bytes_of(data: Any) -> bytes | None:
    if type(data) is not str:
        return None
    try:
        padded = data + "=" * (-len(data) % 4)
        return binascii.a2b_base64(padded.replace("-", "+").replace("_", "/"), strict_mode=True)
    except (binascii.Error, ValueError):
        return None
