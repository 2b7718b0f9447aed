"""A server that sends the given answers, and as little as possible beside: `python benchmarks/loopback.py ANSWERS`.

ANSWERS is a JSON file: `{path: {"plain": text, "events": [text, ...], "shown": n}}`. A request whose body requests a
stream gets the events, all in one write. Under `/held` it gets the first `shown` of them, and the others only once
`/go` has received a POST, or two seconds later: a caller that has the first ones before that was not kept
waiting by anything that reads further. The answer to `/go` is which of the two it was.

The standard library only, one process of its own, its port on standard output.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys

PATIENCE_S = 2.0
_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_STREAM = re.compile(rb'"stream": ?true')


def _whole(kind: str, body: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\ncontent-type: %s\r\ncontent-length: %d\r\n\r\n%s" % (kind.encode(), len(body), body)


def _chunk(body: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(body), body)


_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
_LAST = b"0\r\n\r\n"
_NOTHING = b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n"


class Answers:
    """Every answer as the bytes it goes out as."""

    def __init__(self, path: str) -> None:
        self.plain: dict[bytes, bytes] = {}
        self.streams: dict[bytes, bytes] = {}
        self.held: dict[bytes, tuple[bytes, bytes]] = {}
        with open(path, encoding="utf-8") as file:
            table = json.load(file)
        for name, row in table.items():
            events = [event.encode() for event in row["events"]]
            shown = row["shown"]
            key = name.encode()
            self.plain[key] = _whole("application/json", row["plain"].encode())
            self.streams[key] = _HEAD + b"".join(map(_chunk, events)) + _LAST
            self.held[key] = (
                _HEAD + b"".join(map(_chunk, events[:shown])),
                b"".join(map(_chunk, events[shown:])) + _LAST,
            )
        self.waiting: list[Connection] = []


class Connection(asyncio.Protocol):
    """One client. Requests come one after the other; requests are not pipelined."""

    def __init__(self, answers: Answers) -> None:
        self.answers = answers
        self.buffer = b""
        self.rest = b""
        self.patience: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport: asyncio.Transport = transport  # type: ignore[assignment]

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        head = self.buffer.find(b"\r\n\r\n")
        if head < 0:
            return
        length = _LENGTH.search(self.buffer, 0, head)
        end = head + 4 + (int(length[1]) if length else 0)
        if len(self.buffer) < end:
            return
        body, target = self.buffer[head + 4 : end], self.buffer.split(b" ", 2)[1].partition(b"?")[0]
        self.buffer = self.buffer[end:]
        self._answer(target, body)

    def _answer(self, target: bytes, body: bytes) -> None:
        if target == b"/go":
            freed = [each for each in self.answers.waiting if each.release()]
            self.answers.waiting.clear()
            self.transport.write(_whole("application/json", json.dumps({"in_time": bool(freed)}).encode()))
        elif target.startswith(b"/held/"):
            first, self.rest = self.answers.held[target[5:]]
            self.transport.write(first)
            self.answers.waiting.append(self)
            self.patience = asyncio.get_running_loop().call_later(PATIENCE_S, self.release)
        else:
            known = self.answers.streams if _STREAM.search(body) else self.answers.plain
            self.transport.write(known.get(target, _NOTHING))

    def release(self) -> bool:
        """Send what was held back; whether anything was."""
        rest, self.rest = self.rest, b""
        if self.patience is not None:
            self.patience.cancel()
        if rest:
            self.transport.write(rest)
        return bool(rest)


async def main(path: str) -> None:
    answers = Answers(path)
    server = await asyncio.get_running_loop().create_server(lambda: Connection(answers), "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    # Its parent closes its standard input, or dies; either way it is over.
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
