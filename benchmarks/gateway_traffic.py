"""Both ends of a gateway that is measured: `gateway_traffic.py upstream` and `gateway_traffic.py load JOB`.

The upstream answers Chat Completions and Messages, as little as possible beside. A request that streams gets the events
that its prompt sets (`@n=200@`, `@n=200,gap=0.1@`: seconds between two), each in a write of its own and with its
number as its text, and with a gap also the time at which it is sent. The load generator sends one request over and over
on each of its connections, and counts answers and events; of a stream it checks that every number came once and in its
order, and measures how long events were on their way. A process of its own each.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
import time
from typing import Any

_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_STREAM = re.compile(rb'"stream": ?true')
_ASKED = re.compile(rb"@n=(\d+)(?:,gap=([\d.]+))?@")
_NUMBER = re.compile(rb'"(?:content|text|delta)": ?" w(\d+)(?: @\d{16})?"')
_UNTIMED = b"@%016d" % 0
_TIMED = re.compile(rb' w\d+ @(\d{16})"')  # microseconds of the clock that all processes of a machine share
_DATE = b"date: Sat, 21 Nov 2026 12:00:00 GMT\r\n"
_HEAD = b"HTTP/1.1 200 OK\r\n" + _DATE + b"content-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
_LAST = b"0\r\n\r\n"
TEXT = "Hello there, this is an answer of usual size. " * 4


def _now() -> int:
    return time.monotonic_ns() // 1_000


def _whole(value: Any) -> bytes:
    body = json.dumps(value).encode()
    head = b"content-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(body)
    return b"HTTP/1.1 200 OK\r\n" + _DATE + head + body


def _event(value: Any, name: str = "") -> bytes:
    body = (b"event: %s\n" % name.encode() if name else b"") + b"data: " + json.dumps(value).encode() + b"\n\n"
    return b"%x\r\n%s\r\n" % (len(body), body)


def _chat(count: int, mark: str = "") -> list[bytes]:
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m"}

    def chunk(delta: Any, finish: str | None = None) -> bytes:
        return _event({**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})

    usage = {"prompt_tokens": 10, "completion_tokens": count, "total_tokens": 10 + count}
    words = [chunk({"content": f" w{number}{mark}"}) for number in range(count)]
    done = b"data: [DONE]\n\n"
    last = [chunk({}, "stop"), _event({**head, "choices": [], "usage": usage}), b"%x\r\n%s\r\n" % (len(done), done)]
    return [chunk({"role": "assistant", "content": ""}), *words, *last]


def _messages(count: int, mark: str = "") -> list[bytes]:
    def event(name: str, **more: Any) -> bytes:
        return _event({"type": name, **more}, name)

    message = {**_MESSAGE, "content": [], "stop_reason": None, "usage": {"input_tokens": 10, "output_tokens": 1}}
    begin = event("content_block_start", index=0, content_block={"type": "text", "text": ""})
    words = [
        event("content_block_delta", index=0, delta={"type": "text_delta", "text": f" w{number}{mark}"})
        for number in range(count)
    ]
    told = {"stop_reason": "end_turn", "stop_sequence": None}
    last = [event("message_delta", delta=told, usage={"output_tokens": count}), event("message_stop")]
    return [event("message_start", message=message), begin, *words, event("content_block_stop", index=0), *last]


_MESSAGE = {
    "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [{"type": "text", "text": TEXT}],
    "stop_reason": "end_turn", "stop_sequence": None, "usage": {"input_tokens": 10, "output_tokens": 20},
}  # fmt: skip
_COMPLETION = {
    "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "m",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": TEXT}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 10, "completion_tokens": 20, "total_tokens": 30},
}  # fmt: skip
_WHOLE = {False: _whole(_COMPLETION), True: _whole(_MESSAGE)}


class Upstream(asyncio.Protocol):
    """One connection."""

    made: dict[tuple[bool, int, bool], list[bytes]] = {}

    def __init__(self) -> None:
        self.buffer, self.over = b"", False

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def connection_lost(self, error: Exception | None) -> None:
        self.over = True

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        head = self.buffer.find(b"\r\n\r\n")
        if head < 0:
            return
        length = _LENGTH.search(self.buffer, 0, head)
        end = head + 4 + (int(length[1]) if length else 0)
        if len(self.buffer) < end:
            return
        target, body, self.buffer = self.buffer.split(b" ", 2)[1], self.buffer[head + 4 : end], self.buffer[end:]
        messages = b"/messages" in target
        if not _STREAM.search(body):
            self.transport.write(_WHOLE[messages])
            return
        asked = _ASKED.search(body)
        count, gap = (int(asked[1]), float(asked[2] or 0)) if asked else (200, 0.0)
        key = (messages, count, gap > 0)
        if key not in self.made:
            self.made[key] = (_messages if messages else _chat)(count, f" {_UNTIMED.decode()}" if gap else "")
        self.transport.write(_HEAD)
        self.step(self.made[key], 0, gap)

    def step(self, events: list[bytes], place: int, gap: float) -> None:
        if self.over:
            return
        if place == len(events):
            self.transport.write(_LAST)
            return
        loop = asyncio.get_running_loop()
        self.transport.write(events[place].replace(_UNTIMED, b"@%016d" % _now()) if gap else events[place])
        if gap:
            loop.call_later(gap, self.step, events, place + 1, gap)
        else:
            loop.call_soon(self.step, events, place + 1, gap)


class Load(asyncio.Protocol):
    """One connection that sends requests until there are enough."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.asking = False

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        self.ask()

    def ask(self) -> None:
        if self.state.left <= 0:
            self.transport.close()
            return
        self.state.left -= 1
        self.asking = True
        self.head: bytes | None = None
        self.pieces: list[bytes] = []
        self.size, self.started = 0, time.perf_counter()
        self.length: int | None = None
        self.transport.write(self.state.request)

    def data_received(self, data: bytes) -> None:
        if self.head is None:
            self.pieces.append(data)
            data = b"".join(self.pieces)
            end = data.find(b"\r\n\r\n")
            if end < 0:
                self.pieces = [data]
                return
            self.head, data, self.pieces = data[: end + 2], data[end + 4 :], []
            length = _LENGTH.search(self.head)
            self.length = int(length[1]) if length else None
        self.pieces.append(data)
        self.size += len(data)
        if times := _TIMED.findall(data):  # one that is cut in two is left out
            now = _now()
            self.state.late += [now - int(each) for each in times]
        if self.size >= self.length if self.length is not None else self._is_last():
            self.done()

    def _is_last(self) -> bool:
        tail = self.pieces[-1] if len(self.pieces[-1]) >= 7 else b"".join(self.pieces[-4:])
        return tail.endswith(b"\r\n0\r\n\r\n")

    def done(self) -> None:
        state, head, body = self.state, self.head or b"", b"".join(self.pieces)
        self.asking = False
        state.seconds.append(time.perf_counter() - self.started)
        state.failed += head[9:12] != b"200"
        state.answers += 1
        if state.count:
            # A proxy may cut an event anywhere: what stands between its chunks is not part of it.
            body = body if self.length is not None else _dechunked(body)
            numbers = [int(each) for each in _NUMBER.findall(body)]
            state.events += len(numbers)
            state.wrong += numbers != list(range(state.count))
        state.last = time.perf_counter()
        state.check()
        if b"\r\nconnection: close" in head.lower():
            self.transport.close()
            if state.left > 0:
                state.connect()
            return
        self.ask()

    def connection_lost(self, error: Exception | None) -> None:
        if self.asking:
            self.state.lost += 1
            self.state.check()
            if self.state.left > 0:
                self.state.connect()


def _dechunked(body: bytes) -> bytes:
    """A body without the framing of its chunks."""
    pieces, place = [], 0
    while (end := body.find(b"\r\n", place)) > 0 and (size := int(body[place:end].partition(b";")[0], 16)):
        pieces.append(body[end + 2 : end + 2 + size])
        place = end + 4 + size
    return b"".join(pieces)


class State:
    """What all connections of a job count together."""

    def __init__(self, job: dict[str, Any]) -> None:
        body = job["body"].encode()
        lines = [f"POST {job['path']} HTTP/1.1", f"host: 127.0.0.1:{job['port']}", "content-type: application/json"]
        lines += [f"{name}: {value}" for name, value in job.get("headers", {}).items()]
        self.request = "\r\n".join([*lines, f"content-length: {len(body)}", "", ""]).encode() + body
        self.port, self.total, self.count = job["port"], job["total"], job.get("events", 0)
        self.left, self.answers, self.events, self.failed, self.wrong, self.lost = self.total, 0, 0, 0, 0, 0
        self.seconds: list[float] = []
        self.late: list[int] = []  # microseconds that events were on their way
        self.last = 0.0
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.tasks: set[Any] = set()

    def check(self) -> None:
        if self.answers + self.lost == self.total and not self.over.done():
            self.over.set_result(None)

    def connect(self) -> None:
        loop = asyncio.get_running_loop()
        task = loop.create_task(loop.create_connection(lambda: Load(self), "127.0.0.1", self.port))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)


async def load(job: dict[str, Any]) -> dict[str, Any]:
    state = State(job)
    start = time.perf_counter()
    connections = min(job["connections"], job["total"])
    for _ in range(connections):
        state.connect()
        if job.get("spread"):  # seconds in which all connections begin, one after the other
            await asyncio.sleep(job["spread"] / connections)
    try:
        await asyncio.wait_for(state.over, job.get("patience", 60))
    except TimeoutError:
        state.lost = state.total - state.answers
    spent = max(1e-6, state.last - start)
    late = sorted(state.late)
    middle = sorted(state.seconds)[len(state.seconds) // 2] if state.seconds else 0.0
    return {
        "answers": state.answers, "events": state.events, "failed": state.failed, "wrong": state.wrong,
        "lost": state.lost, "per_s": state.answers / spent, "events_per_s": state.events / spent, "median_s": middle,
        "late_s": late[len(late) * 99 // 100] / 1e6 if late else None,
    }  # fmt: skip


async def upstream() -> None:
    server = await asyncio.get_running_loop().create_server(Upstream, "127.0.0.1", 0, backlog=4096)
    print(server.sockets[0].getsockname()[1], flush=True)
    # Its parent closes its standard input, or dies; either way it is over.
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


def run(main: Any) -> Any:
    try:
        import uvloop
    except ImportError:
        return asyncio.run(main)
    return uvloop.run(main)


if __name__ == "__main__":
    if sys.argv[1] == "upstream":
        run(upstream())
    else:
        print(json.dumps(run(load(json.loads(sys.stdin.read())))))
