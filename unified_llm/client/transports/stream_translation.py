"""The stream of an upstream as the stream of a surface: bytes in, bytes out, and an error of the surface's own.

The rules of what a stream is are `byte_pipeline.py`'s; here is what a client of a transport is owed beside them: an end
in any case, the losses, and no credential in an error event.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ...engine.shared.error_headers import header_safe
from ...foundation.errors import APIError, ProtocolError
from ...foundation.secret import Secret
from ...losses import Levels, Losses
from ...provenance.vault import Vault
from ...streams.byte_pipeline import ByteStream
from ...streams.framings.of_protocol import framed
from ..sending.api_errors import failed
from ..sending.effects import Opened
from ..telemetry.hooks import call_hook

__all__ = ["SurfaceStream"]


class SurfaceStream:
    """The bytes of an upstream's stream to those of the client's, event by event.

    `feed` and `close` are for what comes and for the end, `broken` for an end that is none: the surface's own error.
    """

    def __init__(
        self,
        opened: Opened,
        surface: str,
        vault: Vault,
        on_loss: Levels,
        told: Callable[[Losses], None],
        secret: Secret | None = None,
    ) -> None:
        self._stream = ByteStream(
            opened.upstream.protocol,
            surface,
            exchange=opened.sent.exchange,
            http=opened.http,
            vault=vault,
            secret=secret,
            on_loss=on_loss,
            scope=opened.upstream.scope,
            # What a broken stream left unsent takes many conversions to find. A server has no time for that: when an
            # upstream dies, all of its streams break at once.
            trial="reporting" if on_loss == "ignore" else "",
        )
        self._stream.pipe.aloud = True
        # What makes the frames of a client that does not take server-sent events; the code that sends them calls it.
        self.frames: Callable[[bytes], bytes] | None = framed(self._stream.pipe.goal.streams.framing)
        # Whether HTTP headers are made of the first event.
        self.has_headers: bool = self._stream.pipe.goal.streams.headers
        self._stream.clean = opened.upstream.hide
        self._told = told
        self._opened = opened
        self._over = self._closing = False
        self._failure: APIError | None = None
        # What each event for the client goes through last, in this order.
        self.alters: list[Callable[[bytes], bytes]] = []
        self.keep: Callable[[list[bytes], bool], None] | None = None
        self._sent: list[bytes] = []

    def feed(self, chunk: bytes) -> list[bytes]:
        """The client's bytes for the upstream's."""
        try:
            out = self._stream.feed(chunk) if not self._over else []
        except ProtocolError as error:
            return self.broken({"type": "server_error", "code": "illegal_event", "message": error.reason})
        out = self._without_keys(out)
        if self.keep is not None:
            self._sent += out
        return out

    def close(self) -> list[bytes]:
        """What the client is owed at the end."""
        if self._over:
            return []
        try:
            out = self._stream.close()
        except ProtocolError as error:
            return self.broken({"type": "server_error", "code": "illegal_event", "message": error.reason})
        out = self._without_keys(out)
        self._sent += out
        self._end()
        return out

    def broken(self, error: Mapping[str, Any]) -> list[bytes]:
        """The end of a stream that broke off, in the client's protocol. A stream behind its last event is complete."""
        if self._over:
            return []
        if self._stream.pipe.grammar.state == "closed" and not self._closing:
            # What is illegal behind the end takes nothing from the answer.
            self._closing, self._stream.error = True, None
            return self.close()
        self._failure = failed(self._opened.upstream, error, error, self._opened.model)
        out = self._without_keys(self._stream.fail(error))
        self._end()
        return out

    def stopped(self, error: Mapping[str, Any]) -> list[bytes]:
        """As `broken`, for a stream that is broken off on this side: its upstream has not failed."""
        self._report()
        return self.broken(error)

    def _without_keys(self, out: list[bytes]) -> list[bytes]:
        """The events; those with an error show no key: some servers repeat what they were sent."""
        for index, event in enumerate(out):
            if b'"error' in event:
                out[index] = self._opened.upstream.hide(event.decode()).encode()
        for alter in self.alters:
            out = [alter(event) for event in out]
        return out

    @property
    def is_complete(self) -> bool:
        """Whether the client has its terminal event, or gets it with what was returned last."""
        return self._stream.pipe.grammar.state == "closed"

    @property
    def breaks(self) -> bool:
        """Whether the connection has to break off: the stream ends in an error, which clients of the API ignore."""
        return self._stream.pipe.goal.streams.breaks and not self.is_complete

    @property
    def usage(self) -> dict[str, Any] | None:
        """The canonical usage of the terminal event; None where there is none."""
        return self._stream.pipe.grammar.usage

    @property
    def losses(self) -> Losses:
        """What of the response so far did not get to the client as it was."""
        return self._stream.pipe.losses.report()

    @property
    def headers(self) -> dict[str, str]:
        """The HTTP headers that were made of the first event."""
        return header_safe(self._stream.pipe.writing.http.get("headers") or {})

    @property
    def events(self) -> int:
        """How many events the client was sent."""
        return self._stream.pipe.sent + self._stream.pipe.passed

    @property
    def sent(self) -> list[bytes]:
        """All of the client's bytes so far; empty without `keep`."""
        return self._sent

    def leave(self) -> None:
        """The client has stopped reading. SDKs hang up at the last event of a protocol that has one."""
        if not self._over:
            self._end()

    def _end(self) -> None:
        self._over = True
        if self.keep is not None:
            self.keep(self._sent, True)
        self._report()
        self._told(self._stream.pipe.losses.report())

    def _report(self) -> None:
        operation = self._opened.operation
        if operation is not None:
            hooked = operation.end(usage=self.usage, error=self._failure, complete=self.is_complete)
            if hooked is not None:
                call_hook(*hooked)
