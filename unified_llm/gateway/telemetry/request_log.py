"""Where the lines of the request log go: a file, a stream, or a logger of the application.

Lines for a file or a stream are collected for a tenth of a second and written together: to format a record, to look
whether the file was rotated and to write it would cost a small request as much as its conversion. A process that is
killed loses the lines of that time. A logger gets each line as a record of its own, at once.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import sys
from contextlib import suppress
from logging.handlers import WatchedFileHandler

from ..configuration.config import ConfigError

__all__ = ["RequestLog", "check_log", "opened"]

_NO_FILES = ("off", "logging", "stdout", "stderr")

_log = logging.getLogger("unified_llm.gateway")
_PAUSE = 0.1  # seconds
_MOST = 1_000  # lines that wait


class RequestLog:
    """Writes lines to a handler of `logging`, or to a logger."""

    def __init__(self, logger: logging.Logger, handler: logging.Handler | None = None) -> None:
        self._logger, self._handler = logger, handler
        self._lines: list[bytes] = []
        self._timer: asyncio.TimerHandle | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._failed = self._is_told = False
        if handler is not None:
            handler.handleError = self._failure  # type: ignore[method-assign]

    def _failure(self, record: logging.LogRecord) -> None:
        """One line on the log of the gateway for a file that cannot be written, until it can be again: logging prints a
        traceback and the lines each time."""
        self._failed = True
        if not self._is_told:
            self._is_told = True
            reason = sys.exc_info()[1]
            _log.warning("the request log cannot be written: %s", getattr(reason, "strerror", None) or reason)

    def add(self, line: bytes) -> None:
        """Write a line, at once or soon."""
        if self._handler is None:
            self._logger.info(line.decode())
            return
        self._lines.append(line)
        if self._timer is None or len(self._lines) >= _MOST or (self._loop is not None and self._loop.is_closed()):
            self._begin()

    def _begin(self) -> None:
        """Write what waits for too long; the next lines wait for the timer."""
        if self._timer is not None:
            self._timer.cancel()
            self.flush()
        self._loop = asyncio.get_running_loop()
        self._timer = self._loop.call_later(_PAUSE, self.flush)

    def flush(self) -> None:
        """Write the lines that wait."""
        lines, self._lines, self._timer = self._lines, [], None
        if lines and self._handler is not None:
            text, self._failed = b"\n".join(lines).decode(), False
            record = logging.makeLogRecord({"msg": text, "levelno": logging.INFO})
            try:
                self._handler.handle(record)
            except OSError:  # of a file that was moved and cannot be made anew, which the handler lets out
                self._failure(record)
            self._is_told = self._failed

    def close(self) -> None:
        """Write the lines that wait, and close the file."""
        if self._timer is not None:
            self._timer.cancel()
        self.flush()
        if self._handler is not None:
            with suppress(OSError):  # what had no room is reported
                self._handler.close()


def opened(where: str, name: str) -> RequestLog | None:
    """The log of `telemetry.log`: "off" (None), "logging" (the logger of that name), "stdout", "stderr" or a file.

    Raises `ConfigError` for a file that cannot be written.
    """
    if where == "off":
        return None
    logger = logging.getLogger(name)
    if where == "logging":
        return RequestLog(logger)
    streams = {"stdout": sys.stdout, "stderr": sys.stderr}
    if where in streams:
        return RequestLog(logger, logging.StreamHandler(streams[where]))
    try:
        return RequestLog(logger, WatchedFileHandler(where, encoding="utf-8"))
    except OSError as error:
        raise _unusable(where, error.strerror or str(error)) from None


def check_log(where: str) -> None:
    """Raise `ConfigError` for a file that cannot be written; no file is made."""
    if where in _NO_FILES:
        return
    folder = os.path.dirname(where) or "."
    if "\0" in where:
        raise _unusable(where, "a null character")
    if os.path.isdir(where):
        raise _unusable(where, os.strerror(errno.EISDIR))
    if not os.path.isdir(folder):
        raise _unusable(where, os.strerror(errno.ENOENT))
    if not os.access(where if os.path.exists(where) else folder, os.W_OK):
        raise _unusable(where, os.strerror(errno.EACCES))


def _unusable(where: str, reason: str) -> ConfigError:
    hint = "name a file in a folder that exists and can be written, or off, stdout, stderr or logging"
    return ConfigError([f"telemetry.log: {where}: {reason}; {hint}"])
