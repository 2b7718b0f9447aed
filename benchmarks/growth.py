"""Documents and streams of any size, and the operations that have to be linear in that size.

A `Series` is one operation over inputs that grow in one respect: messages, parts, calls, deltas, losses, ... Its inputs
are made from canonical documents, so that each shape exists in every protocol. `complexity.py` measures the time of
each series, `tests/test_linear.py` counts its steps.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import unified_llm as ul
from benchmarks.growth_answers import ANSWERS, CHAT_STREAMS, STREAMS, deltas
from benchmarks.growth_nodes import (
    CHAT,
    MESSAGES,
    PROTOCOLS,
    QUESTION,
    Node,
    answer,
    asks,
    call,
    message,
    reasoning,
    result,
)  # fmt: skip
from benchmarks.growth_requests import DEEP, REQUESTS
from benchmarks.growth_returns import LARGEST, returns
from benchmarks.growth_tools import tools
from unified_llm.streams.framings.jsonarray import JSONArrayDecoder
from unified_llm.streams.framings.sse import Passing, SSEDecoder, encode

__all__ = ["PROTOCOLS", "Series", "series"]


class Series(NamedTuple):
    """`run(make(n))` is the operation at size n; `largest` limits n where an input cannot grow further."""

    name: str
    make: Callable[[int], Any]
    run: Callable[[Any], object]
    largest: int = 1 << 30


def _wire(node: Node, protocol: str, kind: str) -> Any:
    return ul.write(node, protocol, kind, repair="never").value


def _frames(events: Iterator[Node], protocol: str) -> list[Node]:
    return list(ul.write_stream(events, protocol))


def _across(source: str, target: str, kind: str) -> Callable[[Any], object]:
    return lambda body: len(ul.convert(body, source=source, target=target, kind=kind).losses)


def _streamed(source: str, target: str) -> Callable[[list[Node]], object]:
    def run(frames: list[Node]) -> object:
        stream = ul.convert_stream(frames, source=source, target=target)
        return len(list(stream)), len(stream.losses)

    return run


_LISTS = {"openai-chat": "messages", "anthropic-messages": "messages", "google-generate-content": "contents"}


def _marked(protocol: str, value: Callable[[int], Any]) -> Callable[[int], Any]:
    """A request with an unknown key in each message."""

    def make(n: int) -> Any:
        body = _wire(REQUESTS["messages"](n), protocol, "request")
        for i, node in enumerate(body[_LISTS.get(protocol, "input")]):
            node["zz"] = value(i)
        return body

    return make


def _marked_frames(protocol: str) -> Callable[[int], list[Node]]:
    def make(n: int) -> list[Node]:
        frames = _frames(deltas(n), protocol)
        return [
            {**frame, "data": {**frame["data"], "zz": i}} if type(frame["data"]) is dict else frame
            for i, frame in enumerate(frames)
        ]

    return make


def _with_unknown_frames(protocol: str) -> Callable[[int], list[Node]]:
    def make(n: int) -> list[Node]:
        first, *rest = _frames(deltas(8), protocol)
        return [first, *({"event": "zz", "data": {"type": "zz", "event_type": "zz", "zz": i}} for i in range(n)), *rest]

    return make


def _conversions() -> Iterator[Series]:
    pairs = [(source, target) for source in PROTOCOLS for target in PROTOCOLS]
    for shape, build in {**REQUESTS, **DEEP}.items():
        deep = 64 if shape in DEEP else 1 << 30
        for source, target in pairs:
            make = lambda n, source=source, build=build: _wire(build(n), source, "request")  # noqa: E731
            yield Series(f"request: {shape}: {source} > {target}", make, _across(source, target, "request"), deep)
    for name, value in (("unknown keys", lambda i: i), ("one unknown key and value", lambda i: "same")):
        for source, target in pairs:
            run = _across(source, target, "request")
            yield Series(f"request: {name}: {source} > {target}", _marked(source, value), run)
    for shape, build in ANSWERS.items():
        for source, target in pairs:
            make = lambda n, source=source, build=build: _wire(build(n), source, "response")  # noqa: E731
            yield Series(f"response: {shape}: {source} > {target}", make, _across(source, target, "response"))
    for shape, events in STREAMS.items():
        for source, target in pairs:
            make = lambda n, source=source, events=events: _frames(events(n), source)  # noqa: E731
            yield Series(f"stream: {shape}: {source} > {target}", make, _streamed(source, target))
    for shape, frames in CHAT_STREAMS.items():
        for target in PROTOCOLS:
            yield Series(f"stream: {shape}: {CHAT} > {target}", frames, _streamed(CHAT, target))
    for source, target in pairs:
        run = _streamed(source, target)
        yield Series(f"stream: an unknown key: {source} > {target}", _marked_frames(source), run)
        yield Series(f"stream: unknown frames: {source} > {target}", _with_unknown_frames(source), run)


def _own_operations() -> Iterator[Series]:
    for shape in REQUESTS:
        for protocol in PROTOCOLS:
            yield Series(
                f"write: {shape}: {protocol}", REQUESTS[shape], lambda node, p=protocol: ul.write(node, p).losses
            )
    for protocol in PROTOCOLS:
        make = lambda n, p=protocol: _wire(REQUESTS["answered calls"](n), p, "request")  # noqa: E731
        yield Series(f"read: answered calls: {protocol}", make, lambda body, p=protocol: ul.read(body, p))
        yield Series(
            f"read: an unknown key: {protocol}",
            _marked(protocol, lambda i: i),
            lambda body, p=protocol: ul.read(body, p),
        )
        for shape, events in STREAMS.items():
            yield Series(
                f"collect: {shape}: {protocol}",
                lambda n, p=protocol, events=events: _frames(events(n), p),
                lambda frames, p=protocol: ul.collect(ul.read_stream(frames, p)),
            )
    for shape in ANSWERS:
        yield Series(f"decompose: {shape}", ANSWERS[shape], lambda node: list(ul.decompose(node)))


def _custody() -> Iterator[Series]:
    """Opaque data that waits in envelopes and vaults: an answer to a client of another protocol, and its return."""
    for shape in ("signed reasoning", "calls"):
        for source in PROTOCOLS:
            for target in PROTOCOLS:
                if source == target:
                    continue

                def history(n: int, source: str = source, target: str = target, shape: str = shape) -> Any:
                    answer = _wire(_answered_by(source, shape, n), source, "response")
                    shown = ul.convert(answer, source=source, target=target, kind="response").value
                    given = ul.read(shown, target, "response").model_dump(mode="json", exclude_unset=True)["output"]
                    results = [result(item["call_id"]) for item in given if item["type"] == "function_call"]
                    return _wire(asks(QUESTION, *given, *results, QUESTION), target, "request")

                name = f"{shape}: {source} > {target}"
                make = lambda n, s=source, shape=shape: _wire(_answered_by(s, shape, n), s, "response")  # noqa: E731
                yield Series(f"envelope, out: {name}", make, _across(source, target, "response"))
                yield Series(f"envelope, back: {name}", history, _across(target, source, "request"))
                yield Series(f"vault, out: {name}", make, _into_vault(source, target))


def _answered_by(protocol: str, shape: str, n: int) -> Node:
    if shape == "calls":
        return ANSWERS[shape](n)
    return answer(*(node for i in range(n) for node in (reasoning(i, protocol), call(i))))


def _into_vault(source: str, target: str) -> Callable[[Any], object]:
    def run(body: Any) -> object:
        vault = ul.MemoryVault(limit=1 << 20)
        return ul.convert(body, source=source, target=target, kind="response", vault=vault, scope="s").losses

    return run


def _returns() -> Iterator[Series]:
    for name, make, run in returns():
        yield Series(name, make, run, LARGEST)


def _tools() -> Iterator[Series]:
    for name, make, run in tools():
        yield Series(name, make, run)


def _losses(n: int) -> ul.Losses:
    return ul.Losses(ul.Loss(f"/input/{i}/content", "text.input", "lost", f"reason {i}") for i in range(n))


def _alike_losses(n: int) -> ul.Losses:
    return ul.Losses(ul.Loss(f"/input/{i}/name", "message.name", "lost", "reason") for i in range(n))


def _raised(body: Any) -> object:
    try:
        return ul.convert(body, source=CHAT, target=MESSAGES, on_loss="raise")
    except ul.CapabilityLost as error:
        return str(error)


def _reports() -> Iterator[Series]:
    for name, make in (("losses", _losses), ("losses alike", _alike_losses)):
        yield Series(f"report: table: {name}", make, lambda losses: losses.table())
        yield Series(f"report: repr: {name}", make, repr)
        yield Series(f"report: survives: {name}", make, lambda losses: losses.survives("tools.*"))
        yield Series(f"report: to_json: {name}", make, lambda losses: losses.to_json())
    yield Series("report: raise", _marked(CHAT, lambda i: i), _raised)


# --- bytes ----------------------------------------------------------------------------------------------------------


def _cut(data: bytes, size: int) -> list[bytes]:
    return [data[at : at + size] for at in range(0, len(data), size)]


def _sse(n: int) -> bytes:
    return b"".join(encode(None, json.dumps(frame["data"])) for frame in _frames(deltas(n), CHAT)[:-1])


def _decoded(chunks: list[bytes]) -> object:
    decoder = SSEDecoder([])
    return [decoder.feed(chunk) for chunk in chunks], decoder.close()


def _passed(chunks: list[bytes]) -> object:
    passing = Passing()
    return b"".join([*map(passing.feed, chunks), passing.close()])


def _array(chunks: list[bytes]) -> object:
    decoder = JSONArrayDecoder()
    return [decoder.feed(chunk) for chunk in chunks], decoder.close()


_SSE_BYTES: dict[str, Callable[[int], bytes]] = {
    "events": _sse,
    "one long event": lambda n: b'data: "' + b"a" * (64 * n) + b'"\n\n',
    "data lines of one event": lambda n: b"data: 1\n" * n + b"\n",
    "empty data lines of one event": lambda n: b"data: 1\n" + b"data:\n" * n + b"\n",
    "data lines of colons": lambda n: b"data: 1\n" + b"data: :\n" * n + b"\n",
    "data lines of CR LF": lambda n: b"data: 1\r\n" + b"data:\r\n" * n + b"\r\n",
    "dressed keepalives": lambda n: b"data: : ka\n\n" * n,
    "comments": lambda n: b": ka\n\n" * n,
    "comment lines without a blank one": lambda n: b": ka\n" * n,
    "blank lines": lambda n: b"\n" * (8 * n),
    "CR": lambda n: b"\r" * (8 * n),
}
_ARRAYS: dict[str, Callable[[int], bytes]] = {
    "elements": lambda n: b"[" + b",\n".join([b'{"a": 1}'] * n) + b"]",
    "one long element": lambda n: b'[{"a": "' + b'a\\"' * (16 * n) + b'"}]',
    "open brackets": lambda n: b"[" * (8 * n),
}


def _bytes() -> Iterator[Series]:
    for size in (1, 100, 1 << 16, 1 << 30):
        cut = {1: "byte by byte", 1 << 30: "in one chunk"}.get(size, f"in chunks of {size}")
        for name, make in _SSE_BYTES.items():
            chunked = lambda n, make=make, size=size: _cut(make(n), size)  # noqa: E731
            yield Series(f"bytes: SSEDecoder: {name}, {cut}", chunked, _decoded)
            yield Series(f"bytes: Passing: {name}, {cut}", chunked, _passed)
        for name, make in _ARRAYS.items():
            chunked = lambda n, make=make, size=size: _cut(make(n), size)  # noqa: E731
            yield Series(f"bytes: JSONArrayDecoder: {name}, {cut}", chunked, _array)
        for target in PROTOCOLS:
            chunked = lambda n, size=size: _cut(_sse(n), size)  # noqa: E731
            yield Series(
                f"bytes: translate_sse: {CHAT} > {target}, {cut}",
                chunked,
                lambda chunks, target=target: b"".join(ul.translate_sse(chunks, source=CHAT, target=target)),
            )


_HARD = {
    "escapes": '\\"\n\t', "emoji": "\U0001f600", "slashes": "/~", "digits": "9", "braces": "{", "backslashes": "\\",
    "quotes": '"', "spaces": " ", "base64": "QUJD", "data URLs": "data:image/png;base64,", "lone surrogates": "\ud800",
}  # fmt: skip


def _strings() -> Iterator[Series]:
    for name, piece in _HARD.items():
        for source in PROTOCOLS:
            for target in PROTOCOLS:

                def make(n: int, piece: str = piece, source: str = source) -> Any:
                    long = piece * (8 * n)
                    # What no JSON can hold is put in where there is JSON already.
                    asked = asks(message("user", long), call(0, json.dumps({"a": long.replace("\ud800", "")})))
                    asked["input"].append({**result(0), "output": long})
                    return _wire(asked, source, "request")

                yield Series(f"string: {name}: {source} > {target}", make, _across(source, target, "request"))


def series() -> list[Series]:
    """All of them."""
    groups = (_conversions, _own_operations, _custody, _returns, _tools, _reports, _bytes, _strings)
    return [each for group in groups for each in group()]
