"""Gemini generateContent and streamGenerateContent: `adapter` is the whole declaration."""

from __future__ import annotations

from unified_llm.adapter import Adapter, Framing, Kind, Streams

from .content import items, parts
from .errors import read_error, write_error
from .request import read_request, write_request
from .response import read_response, write_response
from .stream import GenerateContentReader
from .stream_writer import GenerateContentWriter
from .tables import NATIVES, PROTOCOL, REFUSES
from .tools import tools

__all__ = ["adapter"]

adapter = Adapter(
    protocol=PROTOCOL,
    title="Gemini generateContent",
    url="https://ai.google.dev/api/generate-content",
    kinds={
        "request": Kind(read_request, write_request, "request", "provider"),
        "response": Kind(read_response, write_response, "response"),
        "error": Kind(read_error, write_error, "error"),
    },
    streams=Streams(GenerateContentReader, GenerateContentWriter, Framing(named=False)),
    mappings=(parts, items, tools),
    settings={},
    natives=NATIVES,
    refuses=REFUSES,
)
