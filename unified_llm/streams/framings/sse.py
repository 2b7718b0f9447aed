"""Server-sent events over bytes: an incremental decoder and an encoder, independent of the protocols.

Strategy: line ends are unified to LF chunk by chunk (a CR at the end of a chunk ends its line at once and swallows an
LF that opens the next), blocks are cut at blank lines and decoded whole. LF is never part of a longer UTF-8 sequence,
so characters cut between chunks do no harm, and a long event is searched once. Departures from the standard, which
was written for browsers: an unterminated last event is delivered if it is complete, keepalives dressed as data are not,
and bare JSON without `data:` is.

https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream
"""

from __future__ import annotations

import re
from typing import Any, NotRequired, TypedDict

from ...foundation.json_codec import load_text

__all__ = ["Passing", "SSEDecoder", "SSEEvent", "encode", "is_garbled", "parse_data"]

_BOM = b"\xef\xbb\xbf"
# Digits of a `retry:` in milliseconds: more would be 300 million years, and Python refuses to parse very many.
_LONGEST_WAIT = 18
_DONE = "[DONE]"  # the one payload of all protocols that is not JSON


class SSEEvent(TypedDict):
    """One event. `event` is None where the wire names none; `id` and `retry` are there only if the block had them."""

    event: str | None
    data: str
    id: NotRequired[str]
    retry: NotRequired[int]


class SSEDecoder:
    """Bytes in, events out; the same events whatever the chunking.

    `feed(chunk)` returns the events that this chunk completed, `close()` what was still open at the end.

    * `comments`, if a list is passed, receives in order everything that was on the wire and is not an event: comments,
      `data:` lines that are comments in disguise (`data: : keepalive`), names of events without data (`data:` empty or
      blank), lines with an unknown field. None of it is ever data.
    * A block that opens with `{` or `[` instead of a field is bare JSON (some upstreams write errors so into a stream
      they have begun); it becomes an event without a name.
    * `truncated`: after `close()`, the bytes (line ends as LF) of an event that was cut off, else None. A last event
      that lacks only its blank line is complete when its data is JSON or `[DONE]`, and is delivered.
    * `malformed`: whether invalid UTF-8 became U+FFFD anywhere.

    Raises nothing. Data is handed out as text: see `parse_data`.

    >>> decoder = SSEDecoder()
    >>> decoder.feed(b'event: ping\\ndata: {"n"')
    []
    >>> decoder.feed(b': 1}\\r\\n\\r\\n')
    [{'event': 'ping', 'data': '{"n": 1}'}]
    """

    def __init__(self, comments: list[str] | None = None) -> None:
        self.comments = comments
        self.truncated: bytes | None = None
        self.malformed: bool = False
        self._pending: list[bytes] = []  # the open block, in pieces
        self._start = True  # nothing came yet, so a byte order mark may
        self._swallow_lf = False
        # Nothing of the above needs a look: what comes next opens a block.
        self.plain: bool = False

    def feed(self, chunk: bytes) -> list[SSEEvent]:
        """Take the next bytes (any number of them) and return the events they complete."""
        # The usual case, whole events, keeps no state.
        if self.plain and chunk[-1:] == b"\n":
            if b"\r" in chunk:
                chunk = _unify(chunk)
            if chunk[-2:] == b"\n\n":
                text = self._decode(chunk[:-2])
                event = _usual(text)
                return self._blocks(text) if event is None else [event]
        if self._swallow_lf and chunk[:1] == b"\n":
            chunk = chunk[1:]
            self._swallow_lf = False
        if not chunk:
            return []
        self._swallow_lf = chunk[-1:] == b"\r"
        if b"\r" in chunk:
            chunk = _unify(chunk)
        pending = self._pending
        closes = chunk[:1] == b"\n" and bool(pending) and pending[-1][-1:] == b"\n"
        pending.append(chunk)
        events: list[SSEEvent] = []
        if closes or b"\n\n" in chunk:
            whole = self._take_pending()
            end = whole.rindex(b"\n\n")
            if end + 2 < len(whole):
                pending.append(whole[end + 2 :])
            events = self._blocks(self._decode(whole[:end]))
        self.plain = not (pending or self._start or self._swallow_lf)
        return events

    def close(self) -> list[SSEEvent]:
        """The stream ended: return the last event if it is complete; if not, its bytes are in `truncated`."""
        rest = self._take_pending()
        event, name = self._block(self._decode(rest))
        if event is not None and _is_complete(event["data"]):
            return [event]
        if event is not None or name:
            self.truncated = rest.lstrip(b"\n")
        return []

    def _take_pending(self) -> bytes:
        whole = b"".join(self._pending)
        self._pending.clear()
        if self._start and whole:
            self._start = False
            whole = whole.removeprefix(_BOM)
        return whole

    def _decode(self, raw: bytes) -> str:
        try:
            return raw.decode()
        except UnicodeDecodeError:
            self.malformed = True
            return raw.decode(errors="replace")

    def _blocks(self, text: str) -> list[SSEEvent]:
        events = [_usual(block) or self._block(block)[0] for block in text.split("\n\n")]
        return [event for event in events if event is not None]

    def _block(self, block: str) -> tuple[SSEEvent | None, str]:
        """The event of one block, if it is one, and the name the block gives."""
        block = block.lstrip("\n")
        if block[:1] in ("{", "["):
            return {"event": None, "data": block.rstrip("\n")}, ""
        name = ""
        data: list[str] = []
        event: SSEEvent = {"event": None, "data": ""}
        aside: list[str] = []
        for line in block.split("\n"):
            field, _, value = line.partition(":")
            value = value.removeprefix(" ")
            if field == "data":
                # No JSON text begins with a colon, so this takes nothing from anybody.
                if not data and value.startswith(":"):
                    aside.append(value[1:].removeprefix(" "))
                else:
                    data.append(value)
            elif field == "event":
                name = value
            elif field == "id" and "\0" not in value:
                event["id"] = value
            elif field == "retry" and value.isascii() and value.isdigit() and len(value) <= _LONGEST_WAIT:
                event["retry"] = int(value)
            elif line:
                aside.append(line if field else value)
        event["event"] = name or None
        event["data"] = "\n".join(data)
        is_event = bool(event["data"].strip())
        if name and not is_event:
            aside.append(name)
        if self.comments is not None:
            self.comments += aside
        return event if is_event else None, name


class Passing:
    """Bytes handed on as they are, but for keepalives dressed as data, which clients would take for JSON.

    They become the comments they are meant as. `feed(chunk)` gives what goes on now: all of it, but for the beginning
    of a line that may still turn out to be one. `close()` gives the rest.

    >>> Passing().feed(b'data: : keepalive\\n\\ndata: {"a":1}\\n\\n')
    b': keepalive\\n\\ndata: {"a":1}\\n\\n'
    """

    def __init__(self) -> None:
        self._open = b""  # what was handed on of a block that has no end yet
        self._held = b""

    def feed(self, chunk: bytes) -> bytes:
        """Pass a chunk on, without disguises; the start of a line may wait for its rest."""
        if self._held:
            chunk, self._held = self._held + chunk, b""
        if chunk[-1:] not in (b"\n", b"\r"):
            start = max(chunk.rfind(b"\n"), chunk.rfind(b"\r")) + 1
            if b"data: ".startswith(chunk[start:]) and (start or self._open[-1:] in (b"", b"\n", b"\r")):
                chunk, self._held = chunk[:start], chunk[start:]
        if any(map(chunk.__contains__, _DRESSED)):
            chunk = self._undressed(chunk)
        self._open = self._summary(_BLANK.split(self._open + chunk)[-1]) if chunk[-2:] != b"\n\n" else b""
        return chunk

    def _summary(self, block: bytes) -> bytes:
        """As much of an open block as will be needed: whether it has data, and how it ends."""
        if len(block) < 99:
            return block
        return (b"data: x" if _DATA.search(block) else b": x") + block[-2:]

    def close(self) -> bytes:
        """The bytes that waited."""
        return self._held

    def _undressed(self, chunk: bytes) -> bytes:
        """A chunk with its disguises taken off; each byte is looked at once."""
        text, out = self._open + chunk, []
        done = len(self._open)
        block = looked = 0  # where the open block begins, and up to where it is known whether it has data
        has_data = False
        for found in _DISGUISE.finditer(text, done):
            place = found.start()
            for blank in _BLANK.finditer(text, looked, place):
                block, looked, has_data = blank.end(), blank.end(), False
            # Further lines of one event's data may be empty, or begin with a colon.
            has_data = has_data or _DATA.search(text, max(block, looked), place) is not None
            looked = place
            if not has_data:
                out += [text[done:place], b"" if text[found.end() : found.end() + 1] == b":" else b":"]
                done = found.end()
        return b"".join([*out, text[done:]])


_DRESSED = (b"data: :", b"data::", b"data:\n", b"data:\r", b"data: \n", b"data: \r")
_DATA = re.compile(rb"(?<![^\r\n])data: ?[^ :\r\n]")
_DISGUISE = re.compile(rb"(?<![^\r\n])data: ?(?=[:\r\n])")
_BLANK = re.compile(rb"(?>\r\n|\n|\r){2}")


def _usual(block: str) -> SSEEvent | None:
    """The event of a block in one of the two shapes that are nearly all traffic; `_block` gives the same, slower."""
    cut = block.find("\n")
    if cut < 0:
        return {"event": None, "data": block[6:]} if block[:7] == "data: {" else None
    if cut > 7 and block[:7] == "event: " and block[cut + 1 : cut + 8] == "data: {":
        data = block[cut + 7 :]
        return {"event": block[7:cut], "data": data} if "\n" not in data else None
    return None


def _unify(chunk: bytes) -> bytes:
    return chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


def encode(event: str | None, data: str | bytes) -> bytes:
    """One event as the bytes of one write: an `event:` line if a name is given, the data, a blank line.

    The adapter decides whether a surface names its events. Line ends inside `data` become one `data:` line each
    (they all read back as LF); raw U+2028 and its like pass, because only CR and LF end a line. Blank data and data
    that begins with a colon are written as given, and are keepalives to `SSEDecoder`. Raises ValueError for a name with
    a line end in it, which would forge a field.

    >>> encode("ping", '{"type":"ping"}')
    b'event: ping\\ndata: {"type":"ping"}\\n\\n'
    """
    if isinstance(data, str):
        data = data.encode()
    if b"\n" in data or b"\r" in data:
        data = _unify(data).replace(b"\n", b"\ndata: ")
    if event is None:
        return b"data: %b\n\n" % data
    if "\n" in event or "\r" in event:
        raise ValueError(f"the name of an event has a line end in it: {event!r}")
    return b"event: %b\ndata: %b\n\n" % (event.encode(), data)


def parse_data(data: str | bytes) -> Any:
    """The JSON value of an event's data, or the text itself where it is not JSON (above all `[DONE]`). Raises nothing.

    Numbers keep their value: integers beyond 64 bits stay integers; NaN, Infinity and what overflows to it are no JSON.
    Bytes are UTF-8, what is invalid in them becomes U+FFFD. A lone surrogate escape stays one in the value.

    >>> parse_data('{"a": 18446744073709551616}'), parse_data("[DONE]")
    ({'a': 18446744073709551616}, '[DONE]')
    """
    try:
        return load_text(data)
    except ValueError:
        return data if isinstance(data, str) else data.decode(errors="replace")


def is_garbled(data: Any) -> bool:
    """Whether the data of an event, as `parse_data` gives it, is an object that broke: words may be a server's own.

    >>> is_garbled(parse_data('{"a": "b')), is_garbled(parse_data("[DONE]"))
    (True, False)
    """
    return type(data) is str and data[:1] == "{"


def _is_complete(data: str) -> bool:
    return data == _DONE or parse_data(data) is not data
