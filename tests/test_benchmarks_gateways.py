"""The rows of `make bench` about gateways: the smallest of each kind runs, and the load generator is strict."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("uvicorn")
pytest.importorskip("aiohttp")
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processor time is read from /proc")

from benchmarks import gateways, run  # noqa: E402
from benchmarks.gateway_peers import PEERS  # noqa: E402


@pytest.mark.bench
def test_requests_and_streams_of_ours_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gateways, "COLUMNS", (gateways.OFF,))
    rows = [row._replace(total=8, connections=2, budget=None, budget_on=None) for row in gateways.rows(True)]
    kinds = {"gateway-pass-short", "gateway-translate-stream", "gateway-durable-sqlite", "gateway-durable-sqlite-many"}
    monkeypatch.setattr(gateways, "rows", lambda quick: [row for row in rows if row.name in kinds])
    found = gateways.measured("gateway-*", True, 1, lambda text: None)["rows"]
    assert {row["name"] for row in found} == kinds
    for row in found:
        assert isinstance(row["figures"][gateways.OFF], dict), row
        assert not any(row["incomplete"].values())
        assert (row["floor_us"] is None) == row["name"].startswith("gateway-durable")
        is_paced = row["name"].endswith("-many")
        assert (row["figures"][gateways.OFF]["late_s"] is not None) == is_paced
        assert ("p99" in str(gateways.cells([row])[1])) == is_paced
    head, lines, notes = gateways.cells(found)
    assert all(len(line) == len(head) for line in lines) and notes == []


@pytest.mark.parametrize("broken", ["", "twice", "missing", "cut"])
def test_the_load_generator_sees_a_stream_that_is_not_whole(broken: str) -> None:
    numbers = {"twice": [0, 1, 1, 2], "missing": [0, 2]}.get(broken, [0, 1, 2])
    sent = time.monotonic_ns() // 1_000 - 3_000_000  # three seconds ago
    words = [f" w{number} @{sent:016d}" for number in numbers]
    events = [json.dumps({"choices": [{"delta": {"content": word}}]}) for word in words]

    async def main() -> Any:
        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().partition(b"content-length:")[2].split()[0])
            await reader.readexactly(length)
            writer.write(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
            for each in events:
                data = f"data: {each}\n\n".encode()
                writer.write(b"%x\r\n%s\r\n" % (len(data), data))
            if broken != "cut":
                writer.write(b"0\r\n\r\n")
                await writer.drain()
                await reader.read()
            writer.close()

        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        job = {"port": port, "path": "/x", "body": "{}", "total": 1, "connections": 1, "events": 3, "patience": 20}
        async with server:
            return await asyncio.to_thread(gateways.load, job)

    found = asyncio.run(main())
    assert (found["wrong"] + found["lost"] > 0) == bool(broken), found
    assert found["events"] == (0 if broken == "cut" else len(numbers))
    assert found["late_s"] >= 3


def test_what_is_missing_says_why(tmp_path: Path) -> None:
    with pytest.raises(gateways.Missing, match="did not start"):
        gateways.Server("x", [sys.executable, "-c", "print('no port')"], {}, tmp_path / "log")
    row = gateways.rows(True)[0]
    server_less = gateways._row(row, {}, dict.fromkeys((gateways.RAW, *gateways.COLUMNS), "not installed"), 1)
    assert gateways.cells([server_less])[2] == ["[1] not installed"]
    assert set(PEERS) <= set(gateways.COLUMNS)
    assert run.ROOT == gateways.ROOT
