"""A changed file takes the place of the old configuration, as a whole or not at all."""

from __future__ import annotations

import asyncio
import hashlib
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx2
import pytest

from gateway.serving import House
from unified_llm.foundation.errors import OverloadedError
from unified_llm.gateway import reload as reload_module
from unified_llm.gateway.access.callers import Key
from unified_llm.gateway.app import Gateway
from unified_llm.gateway.reload import Reloader, read
from waiting import PATIENCE

FIRST = "[gateway]\nproviders = ['local']\n[state]\nurl = 'sqlite://'\n[models]\none = 'local/echo'\n"


def keyed(name: str, rule: str = "") -> str:
    return f"[keys.{name}]\nsha256 = '{hashlib.sha256(name.encode()).hexdigest()}'\n{rule}\n"


class Running:
    """A gateway over a file."""

    def __init__(self, path: Path, text: str) -> None:
        self.path, self.said = path / "gateway.toml", []  # type: tuple[Path, list[str]]
        self.path.write_text(text)
        self.gateway = Gateway(*read(self.path))
        self.reloader = Reloader(self.gateway, self.path, self.said.append)

    def reload(self, text: str) -> bool:
        self.path.write_bytes(text.encode("utf-8", "surrogateescape"))
        return self.reloader.reload()


def test_a_valid_file_is_swapped_in(tmp_path: Path, house: House) -> None:
    found = Running(tmp_path, FIRST + keyed("blue"))
    house.gateways.append(found.gateway)
    headers = {"authorization": "Bearer red"}
    assert house.ask(found.gateway, "GET", "/v1/models", headers=headers).status_code == 401
    blue = {"authorization": "Bearer blue"}
    assert house.ask(found.gateway, "GET", "/v1/models", headers=blue).status_code == 200
    assert found.reload(FIRST.replace("one", "two") + keyed("red"))
    listed = house.ask(found.gateway, "GET", "/v1/models", headers=headers).json()["data"]
    names = {each["id"] for each in listed}
    assert "two" in names and "one" not in names and found.said == [f"{found.path}: reloaded"]
    assert house.ask(found.gateway, "GET", "/v1/models", headers=blue).status_code == 401, "it was admitted before"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[gateway", "not valid TOML"),
        (FIRST + "# caf\udce9\n", "not UTF-8"),
        ("x = " + "[" * 5_000, "not valid TOML"),
        (FIRST.replace("local/echo", "nowhere/x") + keyed("blue"), "models.one: unknown upstream 'nowhere'"),
        (FIRST, "keys: all keys are gone; restart to serve without keys"),
        ("", "keys: all keys are gone"),
        (FIRST.replace("sqlite://", "sqlite:///x.db") + keyed("blue"), "state.url: a change needs a restart"),
        (FIRST + keyed("blue") + "[telemetry]\nkeep = 5\n", "telemetry.keep: a change needs a restart"),
        (FIRST.replace("[state]", "max_parallel = 5\n[state]") + keyed("blue"), "gateway.max_parallel: a change needs"),
        (FIRST.replace("[state]", "secret_env = 'NOT_SET'\n[state]") + keyed("blue"), "NOT_SET is not set"),
    ],
)
def test_anything_wrong_changes_nothing(tmp_path: Path, text: str, reason: str) -> None:
    found = Running(tmp_path, FIRST + keyed("blue"))
    before = found.gateway.config, found.gateway.router, found.gateway.access
    assert not found.reload(text)
    assert (found.gateway.config, found.gateway.router, found.gateway.access) == before
    (told,) = found.said
    assert "the old one stays" in told and reason in told and "\n" not in told


def test_a_file_that_is_gone_changes_nothing(tmp_path: Path) -> None:
    found = Running(tmp_path, FIRST)
    found.path.unlink()
    assert not found.reloader.reload() and "No such file" in found.said[0]


def test_what_was_used_and_what_failed_stays_known(tmp_path: Path) -> None:
    up = "[upstreams.up]\nmodel = 'local/echo'\n"
    found = Running(tmp_path, FIRST + up + keyed("blue", "limits = ['2/hour']"))
    gateway = found.gateway
    gateway.quota.enter(Key("blue"))
    gateway.router.cooldown.failed(gateway.router.upstreams["up"], OverloadedError("busy"), 60)
    text = FIRST.replace("'local/echo'", "['up', 'local/echo']", 1) + up + keyed("blue", "limits = ['2/hour']")
    assert found.reload(text)
    gateway.quota.enter(Key("blue"))
    with pytest.raises(Exception, match="2 requests/hour"):
        gateway.quota.enter(Key("blue"))
    assert [each.label for each in gateway.router.resolve("one", Key()).upstreams] == ["local/echo"]


def test_the_file_is_watched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reload_module, "_EVERY", 0.02)
    found = Running(tmp_path, FIRST)

    async def main() -> None:
        found.reloader.start()
        await asyncio.sleep(0.1)
        assert not found.said
        found.path.write_text(FIRST.replace("one", "two"))
        while not found.said:
            await asyncio.sleep(0.01)
        found.reloader.stop()
        await found.gateway.aclose()

    asyncio.run(asyncio.wait_for(main(), PATIENCE))
    assert found.said == [f"{found.path}: reloaded"] and list(found.gateway.router.models) == ["two"]


def test_the_file_is_watched_behind_a_defect(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An unexpected error ended the watch, and no later change was seen."""
    monkeypatch.setattr(reload_module, "_EVERY", 0.02)
    found = Running(tmp_path, FIRST)

    def failing(*_: Any) -> Any:
        raise ZeroDivisionError

    async def main() -> None:
        found.reloader.start()
        with monkeypatch.context() as patched:
            patched.setattr(reload_module, "read", failing)
            found.path.write_text(FIRST + "# changed")
            while not found.said:
                await asyncio.sleep(0.01)
        found.path.write_text(FIRST.replace("one", "two"))
        while len(found.said) < 2:
            await asyncio.sleep(0.01)
        found.reloader.stop()
        await found.gateway.aclose()

    asyncio.run(asyncio.wait_for(main(), PATIENCE))
    assert found.said == [
        "the configuration is not reloaded, the old one stays: ZeroDivisionError",
        f"{found.path}: reloaded",
    ]


def test_a_file_that_is_removed_is_reported_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reload_module, "_EVERY", 0.02)
    found = Running(tmp_path, FIRST)

    async def main() -> None:
        found.reloader.start()
        for text in ("two", "three"):
            found.path.unlink()
            count = len(found.said)
            while len(found.said) == count:
                await asyncio.sleep(0.01)
            await asyncio.sleep(0.1)
            assert found.said[count:] == [
                f"{found.path}: the configuration file cannot be found; the old configuration stays"
            ]
            found.path.write_text(FIRST.replace("one", text))
            while len(found.said) == count + 1:
                await asyncio.sleep(0.01)
            assert found.said[-1] == f"{found.path}: reloaded"
        found.reloader.stop()
        await found.gateway.aclose()

    asyncio.run(asyncio.wait_for(main(), PATIENCE))
    assert list(found.gateway.router.models) == ["three"]


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="there is no SIGHUP here")
def test_a_server_reads_its_file_at_sighup(tmp_path: Path) -> None:
    path = tmp_path / "gateway.toml"
    path.write_text(FIRST)
    command = [sys.executable, "-W", "error", "-m", "unified_llm", "gateway"]
    command += ["--config", str(path), "--listen", "127.0.0.1:0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None and process.stderr is not None
        url = process.stdout.readline().split()[-1]
        path.write_text(FIRST.replace("one", "two"))
        process.send_signal(signal.SIGHUP)
        assert "reloaded" in process.stderr.readline()
        names = [each["id"] for each in httpx2.get(f"{url}/v1/models", timeout=PATIENCE).json()["data"]]
        assert "two" in names and "one" not in names
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) in (0, -signal.SIGTERM)
    finally:
        process.kill()
        process.communicate()


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="there is no SIGHUP here")
def test_a_server_without_a_file_goes_on_at_sighup(tmp_path: Path) -> None:
    command = [sys.executable, "-W", "error", "-m", "unified_llm", "gateway", "--listen", "127.0.0.1:0"]
    # The default database is in the working directory.
    paths = os.pathsep.join(str(Path(each).resolve()) for each in sys.path if each)
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": paths},
    )
    try:
        assert process.stdout is not None and process.stderr is not None
        url = process.stdout.readline().split()[-1]
        process.send_signal(signal.SIGHUP)
        assert "no configuration file to read again" in process.stderr.readline()
        assert httpx2.get(f"{url}/v1/models", timeout=PATIENCE).status_code == 200
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) in (0, -signal.SIGTERM)
    finally:
        process.kill()
        process.communicate()
