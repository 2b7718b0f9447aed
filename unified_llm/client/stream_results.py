"""A stream between its wire events and the result at its end; both forms of `streams.py` share it. No I/O."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..foundation.errors import APIError
from .requests import Call
from .results import Result, result_of
from .sending.api_errors import failed, interrupted
from .sending.decoding import EventReader
from .state.stored_responses import keep
from .telemetry.operation import Hooked

if TYPE_CHECKING:
    from ..foundation.exchange import Exchange
    from .call_flows import Core

__all__ = ["Opening"]

Node = dict[str, Any]


class Opening:
    """A stream that was opened: wire events in, canonical events out, and the result at its end."""

    def __init__(
        self,
        core: Core,
        stream: Any,
        call: Call | None,
        body: Node,
        *,
        resumed: bool = False,
        exchange: Exchange | None = None,
    ) -> None:
        self.core = core
        self.stream = stream
        self.call = call
        self.body = body
        upstream = stream.upstream
        self.reader: EventReader = EventReader(
            upstream.protocol,
            exchange=exchange or stream.sent.exchange,
            provider=upstream.provider,
            scope=upstream.scope,
            resumed=resumed,
        )

    def finished(self) -> None:
        """The stream is at its end: its answer is kept where there is a store."""
        if self.call is not None and self.reader.response is not None:
            keep(self.core.store, self.call, self.reader.response, self.stream.upstream)

    def failure(self) -> APIError | None:
        """The typed error of a stream that ended in one, or with a response that failed.

        A response that is retrieved, or made in the background, has its state instead, as one without a stream.
        """
        found, response = self.reader.failure, self.reader.response
        if found is None:
            return None
        if response is not None and (response.get("status") != "failed" or not self._awaited()):
            return None
        if found.get("code") == "stream_truncated":
            message = found.get("message")
            return self.broken(message if isinstance(message, str) else "the stream broke off")
        error: APIError = self.stream.located(failed(self.stream.upstream, found, found, self.stream.model))
        return error

    def _awaited(self) -> bool:
        return self.call is not None and not self.body.get("background")

    def broken(self, message: str) -> APIError:
        """The error of a stream that broke off, or broke its own rules."""
        found: APIError = self.stream.located(interrupted(self.stream.upstream, message, self.stream.model))
        return found

    def ended(self, error: BaseException | None) -> Hooked | None:
        """The stream is closed, with an error or without; returns the hook that is to be called."""
        operation = self.stream.operation
        if operation is None:
            return None
        if not isinstance(error, Exception):
            error = self.failure() if self.reader.failure is not None else None
        response = self.reader.response
        found: Hooked | None = operation.end(response, usage=(response or {}).get("usage"), error=error)
        return found

    def result(self) -> Result:
        """The result; raises what the stream ended with where it was cut off."""
        node = self.reader.response
        if node is None:
            raise self.failure() or self.broken(
                "the stream was closed before its end, so there is no final response; .partial is what came"
            )
        return result_of(node, self.core._made(self.stream, self.call, self.body, node, None))
