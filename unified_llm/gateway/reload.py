"""A changed configuration file takes the place of the old one while the gateway runs, as a whole or not at all.

The file is looked at every second and read once it stays the same between two looks, so that a file which is just being
written is not taken for a whole one. SIGHUP reads it at once. A file with any problem changes nothing; the reason is
reported, and the old configuration stays. Requests that have begun end under the configuration they began with.
A gateway without a file answers SIGHUP with a report, since by default the signal ends the process.
"""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from .app import Gateway
from .configuration.config import Config, ConfigError, load
from .state.database import check_database
from .telemetry.request_log import check_log
from .upstreams.routing import Router

__all__ = ["Reloader", "read"]

_log = logging.getLogger("unified_llm.gateway")
_EVERY = 1.0  # seconds between two looks at the file


def read(path: Path | None, listen: str | None = None) -> tuple[Config, Router]:
    """The configuration of a file, checked as a whole. Raises `ConfigError` and `OSError`."""
    config = load(path) if path is not None else Config()
    if listen is not None:
        config = config.listening(listen)
    config.gateway.secret()
    check_database(config.state)
    check_log(config.telemetry.log)
    return config, Router.load(config, path)


class Reloader:
    """Keeps a gateway at the content of its file, if it has one. `report` gets one line for a reload, done or not."""

    def __init__(
        self, gateway: Gateway, path: Path | None, report: Callable[[str], None], listen: str | None = None
    ) -> None:
        self._gateway, self._path, self._report, self._listen = gateway, path, report, listen
        self._seen = self._stamp()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Watch the file, and wait for SIGHUP where there is one. For the event loop of the gateway."""
        if self._path is not None:
            self._task = asyncio.create_task(self._watch())
        # Signals are for the main thread; a gateway elsewhere has the file alone.
        with suppress(AttributeError, NotImplementedError, RuntimeError, ValueError):
            asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, self.reload)

    def stop(self) -> None:
        """Watch no longer."""
        if self._task is not None:
            self._task.cancel()
        with suppress(AttributeError, NotImplementedError, RuntimeError, ValueError):
            asyncio.get_running_loop().remove_signal_handler(signal.SIGHUP)

    def reload(self) -> bool:
        """Read the file, and take it if nothing is wrong with it."""
        if self._path is None:
            self._report("there is no configuration file to read again: the gateway was started without --config")
            return False
        self._seen = self._stamp()
        try:
            self._gateway.load(*read(self._path, self._listen))
        except ConfigError as error:
            problems = "; ".join(" ".join(each.split()) for each in error.problems)
            self._report(f"the configuration is not reloaded, the old one stays: {problems}")
            return False
        except OSError as error:
            self._report(f"the configuration is not reloaded, the old one stays: {self._path}: {error.strerror}")
            return False
        except Exception as error:  # a defect: the file is watched all the same
            _log.exception("reading the configuration failed")
            self._report(f"the configuration is not reloaded, the old one stays: {type(error).__name__}")
            return False
        self._report(f"{self._path}: reloaded")
        return True

    async def _watch(self) -> None:
        before, is_missed = self._seen, False
        while True:
            await asyncio.sleep(_EVERY)
            now = self._stamp()
            if now is not None and now == before and now != self._seen:
                self.reload()
            # One look may fall between the removal of a file and its replacement.
            if now is None and before is None and not is_missed:
                self._report(f"{self._path}: the configuration file cannot be found; the old configuration stays")
            is_missed = now is None and before is None
            before = now

    def _stamp(self) -> tuple[int, int, int] | None:
        """What changes with the content of the file; None while there is no file."""
        if self._path is None:
            return None
        try:
            found = self._path.stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino
