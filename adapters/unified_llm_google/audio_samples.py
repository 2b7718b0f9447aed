"""Bare samples of audio: one API puts their rate into the media type, the other beside it.

https://ai.google.dev/gemini-api/docs/speech-generation and https://datatracker.ietf.org/doc/html/rfc2586
"""

from __future__ import annotations

import re
from typing import Any

__all__ = ["details_of_samples", "type_of_samples"]

_TYPE = re.compile(r"audio/(?:l16|pcm)((?:; *(?:codec=pcm|rate=\d{1,9}|channels=\d{1,3}))*)", re.IGNORECASE)
_NUMBERS = re.compile(r"(rate|channels)=(\d+)", re.IGNORECASE)
_NAMES = {"rate": "sample_rate", "channels": "channels"}


def details_of_samples(media_type: str) -> dict[str, int] | None:
    """The numbers in the media type of bare samples; None for another type.

    >>> details_of_samples("audio/L16;codec=pcm;rate=24000"), details_of_samples("audio/wav")
    ({'sample_rate': 24000}, None)
    """
    found = _TYPE.fullmatch(media_type)
    if found is None:
        return None
    return {_NAMES[name.lower()]: int(number) for name, number in _NUMBERS.findall(found[1])}


def type_of_samples(details: dict[str, Any]) -> str | None:
    """The media type of samples with these numbers; None without a rate.

    >>> type_of_samples({"sample_rate": 24000}), type_of_samples({"sample_rate": 8000, "channels": 2})
    ('audio/L16;codec=pcm;rate=24000', 'audio/L16;codec=pcm;rate=8000;channels=2')
    """
    rate, channels = (details.get(key) for key in ("sample_rate", "channels"))
    if type(rate) is not int or type(channels) not in (int, type(None)):
        return None
    return f"audio/L16;codec=pcm;rate={rate}" + (f";channels={channels}" if channels is not None else "")
