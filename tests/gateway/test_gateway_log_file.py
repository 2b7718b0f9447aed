"""Where the request log is written: a file, a logger, and what happens without room."""

from __future__ import annotations

import asyncio
import json
import logging
from pathlib import Path

import pytest

from gateway.serving import House, until
from upstreams import CHAT, Canned

pytest.importorskip("opentelemetry.sdk")

from gateway.logged import lines, over, post


def test_the_log_is_a_file(house: House, tmp_path: Path) -> None:
    gateway = over(house, Canned(CHAT, model="m"), telemetry={"log": str(tmp_path / "requests.log")})
    for _ in range(3):
        post(house, gateway)
    log = tmp_path / "requests.log"
    until(
        lambda: log.exists() and log.read_bytes().count(b"\n") == 3,
        pause=lambda seconds: house.run(asyncio.sleep(seconds)),
    )
    assert [json.loads(each) for each in log.read_text("utf-8").splitlines()] == lines(gateway)


def test_the_end_of_the_log_is_written_when_the_gateway_closes(house: House, tmp_path: Path) -> None:
    path = tmp_path / "requests.log"
    gateway = over(house, Canned(CHAT, model="m"), telemetry={"log": str(path)})
    post(house, gateway)
    path.rename(tmp_path / "rotated.log")
    house.run(gateway.aclose())
    assert [json.loads(each) for each in path.read_text("utf-8").splitlines()] == lines(gateway)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_log_without_room_is_one_line_and_no_failure(
    house: House, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    gateway = over(house, Canned(CHAT, model="m"), telemetry={"log": "/dev/full"})
    for _ in range(3):
        assert post(house, gateway).status_code == 200
        house.run(asyncio.sleep(0.15))
    told = [each.getMessage() for each in caplog.records if each.name == "unified_llm.gateway"]
    assert told == ["the request log cannot be written: No space left on device"]
    assert "Traceback" not in capsys.readouterr().err


def test_a_log_whose_folder_is_away_is_one_line_each_time(
    house: House, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The file is made anew when its folder is back, and a second failure is a line again."""
    folder = tmp_path / "logs"
    folder.mkdir()
    gateway = over(house, Canned(CHAT, model="m"), telemetry={"log": str(folder / "log")})
    for is_there in (True, False, False, True, False):
        if is_there != folder.exists():
            folder.rename(tmp_path / "away") if not is_there else (tmp_path / "away").rename(folder)
        assert post(house, gateway).status_code == 200
        house.run(asyncio.sleep(0.15))
    told = [each.getMessage() for each in caplog.records if each.name in ("unified_llm.gateway", "asyncio")]
    assert told == ["the request log cannot be written: No such file or directory"] * 2


def test_the_log_is_a_logger(house: House, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "unified_llm.gateway.requests")
    gateway = over(house, Canned(CHAT, model="m"))
    post(house, gateway)
    found = [each.getMessage() for each in caplog.records if each.name == "unified_llm.gateway.requests"]
    assert [json.loads(each) for each in found] == lines(gateway)


def test_the_fields_of_a_line_cannot_be_forged(house: House) -> None:
    gateway = over(house, Canned(CHAT, model="m"))
    post(house, gateway, headers={"x-client-id": 'a", "key": "boss'})
    text = house.ask(gateway, "GET", "/requests").text
    (line,) = text.splitlines()
    assert json.loads(line)["client"] == 'a", "key": "boss' and "key" not in json.loads(line)
