"""The events for hooks: a request is sent, it is repeated, its response is complete.

Each `RequestInfo` is followed by one `RetryInfo` or one `ResponseInfo` that refers to it. None contains a
credential or any content of the conversation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from ...losses import Losses
from ...types.validation import validate

if TYPE_CHECKING:
    from ...types.usage import Usage

__all__ = ["RequestInfo", "ResponseInfo", "RetryInfo", "RetryReason"]

RetryReason = Literal["retry", "repair", "fallback"]
"""Why there is another request: the error is temporary, the history was repaired, or the next upstream is tried."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestInfo:
    """A request is about to be sent.

    `call` is the same for all requests of one call, `attempt` counts the requests to this upstream from 1. `url` has
    neither a query nor credentials. `kind` is "request" for a response of a model; lists of models, token counts and
    stored responses have others. `why` contains the reasons against the provider's other protocols. `losses` are the
    values of the request that do not reach the upstream unchanged.

    >>> import unified_llm as ul
    >>> client = ul.Client(on_request=lambda event: print(event.attempt, event.method, event.upstream, event.protocol))
    >>> _ = client.responses.create(model="local/echo", input="Hello")
    1 POST local/echo openai-responses
    """

    call: str
    attempt: int
    upstream: str
    provider: str | None
    model: str | None
    protocol: str
    kind: str
    stream: bool
    method: str
    url: str
    why: str = ""
    losses: Losses = field(default_factory=Losses)


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryInfo:
    """A request failed, and another one follows: to the same upstream after `wait` seconds, or to `next_upstream`.

    `duration` is how many seconds the failed request took.

    >>> import unified_llm as ul
    >>> client = ul.Client(retry=ul.Retry.never(), on_retry=lambda event: print(event.reason, event.next_upstream))
    >>> down = ul.Upstream.of("m", base_url="http://127.0.0.1:9/v1")
    >>> client.responses.create(models=[down, "local/echo"], input="Good morning.").output_text
    fallback local/echo
    'Good morning.'
    """

    request: RequestInfo
    reason: RetryReason
    error: Exception
    duration: float
    wait: float = 0.0
    next_upstream: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseInfo:
    """A call is over: its response is complete, it failed (`error`), or its stream was closed early.

    `complete` is False for the last two. `duration` and `time_to_first_event` (of streams) are seconds since the
    request was sent. `usage` are the tokens that the provider counted, None where it did not; `usage_node` is the same
    as JSON. `response_id` is the id of the result, `model` the name that the provider returned, `finish` the canonical
    reason why the model stopped.

    >>> import unified_llm as ul
    >>> client = ul.Client(on_response=lambda event: print(event.status, event.usage.output_tokens, event.finish))
    >>> _ = client.responses.create(model="local/echo", input="Good morning.")
    200 2 stop
    """

    request: RequestInfo
    status: int | None
    duration: float
    complete: bool = True
    time_to_first_event: float | None = None
    request_id: str | None = None
    response_id: str | None = None
    model: str | None = None
    finish: str | None = None
    usage_node: Mapping[str, Any] | None = None
    error: Exception | None = None

    @property
    def usage(self) -> Usage | None:
        """The tokens that the provider counted."""
        found: Usage | None = None if self.usage_node is None else validate("usage", dict(self.usage_node))
        return found
