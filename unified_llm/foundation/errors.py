"""The few things that can go wrong, each class with what the caller can do about it (the table is in docs/errors.md).

A conversion either returns a whole value or raises one of these; it never prints, retries or half finishes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .hints import PYTHON, Each, Give, Hint, Name, Words, rendered

if TYPE_CHECKING:
    from ..losses import Losses

__all__ = [
    "APIConnectionError",
    "APIError",
    "APITimeoutError",
    "AuthenticationError",
    "CapabilityLost",
    "CapabilityRefused",
    "ContentFilterError",
    "ContextOverflowError",
    "InvalidBody",
    "InvalidRequestError",
    "LocalProtocolError",
    "NotFoundError",
    "OverloadedError",
    "PermissionDeniedError",
    "ProtocolError",
    "QuotaExceededError",
    "RateLimitError",
    "RemoteProtocolError",
    "ServerError",
    "StreamInterruptedError",
    "UnifiedLLMError",
    "UnknownModel",
    "UnknownProtocol",
    "UnknownProvider",
    "request_id_of",
]


class UnifiedLLMError(Exception):
    """Base of every error this library raises on purpose; docs/errors.md has a row for each, with what to do.

    >>> from unified_llm import convert
    >>> try:
    ...     convert({"model": "m"}, source="openai-chat", target="openai-responses")
    ... except UnifiedLLMError as error:
    ...     print(type(error).__name__, error)
    InvalidBody /messages: required field is missing or not a list
    """

    result: Any = None
    """The `RunResult` so far, where the error ended a tool loop after a turn: `responses.resume(error.result, ...)`
    goes on from there, and tools that have run do not run again."""

    def in_words(self, words: Words) -> str:
        """The text of the error in the words of another front end; `str(error)` is in those of Python."""
        return (len(self.args) == 1 and rendered(self.args[0], words)) or str(self)

    def __reduce__(self) -> tuple[Any, ...]:
        # The constructors of some errors take other arguments than the message.
        return _revived, (type(self), self.args), self.__dict__


def _revived(kind: type[UnifiedLLMError], args: tuple[Any, ...]) -> UnifiedLLMError:
    """An error from another process."""
    error = kind.__new__(kind)
    error.args = args
    return error


class InvalidBody(UnifiedLLMError, ValueError):
    """The input cannot be a document of its protocol: correct the input at `path`.

    `path` is a JSON pointer into what was passed ("" is the whole of it), `reason` one plain sentence.

    >>> str(InvalidBody("/messages/0", "a message is an object"))
    '/messages/0: a message is an object'
    """

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(Hint(path or "(the whole body)", ": ", reason))
        self.path = path
        self.reason = reason


class UnknownProtocol(UnifiedLLMError, LookupError):
    """No adapter (or no dialect of it) goes by that name: correct the name or install the package that brings it.

    >>> from unified_llm import preview
    >>> try:
    ...     preview({}, source="openai-chat", target="morse")
    ... except UnknownProtocol as error:
    ...     print(str(error).partition(";")[0])
    unknown protocol 'morse'
    """


class UnknownProvider(UnifiedLLMError, LookupError):
    """Neither the catalog nor our own table has a provider of that name: correct it, or name a URL and a protocol.

    `suggestions` are names that may be meant, the likeliest first.

    >>> str(UnknownProvider("opnai", ["openai"]))
    "no provider 'opnai'; did you mean openai?"
    """

    def __init__(self, name: str, suggestions: list[str]) -> None:
        others = Each((Hint("; for another ", Give.of("base_url")),))
        listed = Hint("; `unified-llm models --providers` lists them", others)
        super().__init__(Hint(f"no provider {name!r}", _meant(suggestions) or listed))
        self.name = name
        self.suggestions = suggestions


class UnknownModel(UnifiedLLMError, LookupError):
    """The catalog has no such model: correct the name, refresh the catalog, or do without its facts.

    Requests may still name it: a name that is not in the catalog is not forbidden. `suggestions` are names that may be
    meant, the likeliest first; empty for a provider that has no catalog (`listed` is False).

    >>> from unified_llm import models
    >>> try:
    ...     models.get("anthropic/claude-opus-47")
    ... except UnknownModel as error:
    ...     print(error.suggestions[0])
    anthropic/claude-opus-4-7
    """

    def __init__(self, name: str, suggestions: list[str], *, listed: bool = True) -> None:
        why = "" if listed else "; that provider serves what you put on it and lists no models"
        super().__init__(f"no model {name!r} in the catalog{why}{_meant(suggestions)}")
        self.name = name
        self.suggestions = suggestions
        self.listed = listed


def _meant(suggestions: list[str]) -> str:
    return f"; did you mean {' or '.join(suggestions)}?" if suggestions else ""


class CapabilityLost(UnifiedLLMError):
    """A loss reached the level `raise`: choose another target, drop the feature, or lower the level.

    `losses` are the ones that tripped the level. `converted` is the finished result, so that an answer that was paid
    for is never thrown away; it is None when a stream was stopped before an event was handed out.

    >>> from unified_llm import convert
    >>> body = {"model": "m", "seed": 7, "messages": [{"role": "user", "content": "Hi"}]}
    >>> try:
    ...     convert(body, source="openai-chat", target="anthropic-messages", on_loss={"sampling.seed": "raise"})
    ... except CapabilityLost as error:
    ...     print(error.losses[0].path, error.converted.value["messages"])
    /seed [{'role': 'user', 'content': 'Hi'}]
    """

    def __init__(self, losses: Losses, converted: Any = None) -> None:
        shown = ((loss, ": ".join(filter(None, (loss.fate, loss.detail)))) for loss in losses[:5])
        told = [f"{loss.path} ({loss.capability}, {why})" for loss, why in shown]
        more = f" and {len(losses) - 5} more" if len(losses) > 5 else ""
        count = f"{len(losses)} {'loss' if len(losses) == 1 else 'losses'} at level 'raise'"
        advice = Each((Hint("change ", Name("on_loss"), " or the target"),), before="; ")
        super().__init__(Hint(f"{count}: {'; '.join(told)}{more}", advice))
        self.losses = losses
        self.converted = converted


class CapabilityRefused(UnifiedLLMError):
    """No meaningful document of the target exists for this input, so none is made up.

    `path` is a JSON pointer into what was passed, `capability` what cannot be done, `reason` one plain sentence.

    >>> from unified_llm import convert
    >>> body = {"model": "m", "n": 2, "messages": [{"role": "user", "content": "Hi"}]}
    >>> try:
    ...     convert(body, source="openai-chat", target="anthropic-messages")
    ... except CapabilityRefused as error:
    ...     print(error.path, error.capability)
    /n output.choices
    """

    def __init__(self, path: str, capability: str, reason: str) -> None:
        told = [part for each in (path, capability, reason) if each for part in (": ", each)]
        super().__init__(Hint(*told[1:]))
        self.path = path
        self.capability = capability
        self.reason = reason


class ProtocolError(UnifiedLLMError):
    """An event came where the stream grammar does not allow it. `status` is the HTTP status a gateway should answer.

    >>> ProtocolError("two terminal events").status
    500
    """

    status: int = 500

    def __init__(self, reason: str, *, status: int | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        if status is not None:
            self.status = status


class LocalProtocolError(ProtocolError):
    """Our side (an adapter or the caller of a writer) sent an illegal event: a bug to report."""

    status = 500


class RemoteProtocolError(ProtocolError):
    """The provider's stream broke off or broke its own rules: treat the answer as failed.

    >>> from unified_llm import collect
    >>> try:
    ...     collect([{"type": "response.created", "response": {"output": []}}])
    ... except RemoteProtocolError as error:
    ...     print(error.status)
    502
    """

    status = 502


# ---- what a provider answers, or fails to ---------------------------------------------------------------------------


def request_id_of(headers: Mapping[str, Any]) -> str | None:
    """The provider's name for a request, in the headers of its answer.

    >>> request_id_of({"content-type": "application/json", "x-amzn-RequestId": "b2c1"})
    'b2c1'
    """
    named = (value for name, value in headers.items() if name.lower() in _REQUEST_ID and type(value) is str)
    return next(named, None)


_REQUEST_ID = frozenset(("x-request-id", "request-id", "x-amzn-requestid"))


class APIError(UnifiedLLMError):
    """A provider refused, or could not be reached. The classes are the same for all providers.

    `error` is the canonical error (`type`, `code`, `message`, `retry_after`, ...), and its fields are attributes.
    `status` is the HTTP status (None where there was no answer), `headers` those of the answer, `body` its document as
    the provider wrote it. `provider`, `model` and `protocol` are those of the request; `hops` the upstreams tried
    before, where there were fallbacks; `unsent` is True where the request certainly did not reach the provider.
    `method` and `url` (without its query) are those of the request, `hint` (a `Hint`, or "") is the fix of a common
    mistake. No key is in any of them.

    >>> import unified_llm as ul
    >>> try:
    ...     ul.Client(retry=ul.Retry.never()).responses.create(model="local/echo", input="[[error 429 retry-after=2]]")
    ... except ul.APIError as error:
    ...     print(type(error).__name__, error.status, error.retry_after, error.provider)
    RateLimitError 429 2 local
    """

    def __init__(
        self,
        message: str,
        *,
        error: Mapping[str, Any] | None = None,
        status: int | None = None,
        headers: Mapping[str, str] | None = None,
        body: Any = None,
        provider: str | None = None,
        model: str | None = None,
        protocol: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.error: dict[str, Any] = dict(error or {})
        self.status = status
        self.headers: dict[str, str] = dict(headers or {})
        self.body = body
        self.provider = provider
        self.model = model
        self.protocol = protocol
        self.hops: tuple[Any, ...] = ()
        self.unsent = False
        self.method = self.url = self.hint = ""

    def __str__(self) -> str:
        return self.in_words(PYTHON)

    def in_words(self, words: Words) -> str:
        """The text of the error in the words of another front end. What a provider wrote is not changed."""
        message, hint = rendered(self.message, words) or self.message, rendered(self.hint, words)
        status = f"HTTP {self.status}" if self.status is not None else ""
        told = ", ".join(filter(None, (status, f"{self.method} {self.url}" if self.url else "")))
        whose = f"{self.upstream}: " if self.upstream else ""
        return f"{whose}{message}{f' ({told})' if told else ''}{f'; {hint}' if hint else ''}"

    @property
    def summary(self) -> str:
        """Upstream and the provider's message: the error without the request."""
        return f"{self.upstream}: {self.message}" if self.upstream else self.message

    @property
    def upstream(self) -> str:
        """Provider and model, as reports name an upstream; "" where neither is known."""
        return "/".join(each for each in (self.provider, self.model) if each)

    @property
    def type(self) -> str:
        """The canonical class in words: `rate_limit`, `context_overflow`, ..."""
        return str(self.error.get("type") or "other")

    @property
    def code(self) -> str | int | None:
        """The provider's finer reason."""
        return self.error.get("code")

    @property
    def retry_after(self) -> float | None:
        """Seconds to wait, where the provider says so."""
        after = self.error.get("retry_after")
        return after if isinstance(after, (int, float)) else None

    @property
    def should_retry(self) -> bool | None:
        """What the provider advises, None where it sends none."""
        said = self.error.get("should_retry")
        return said if type(said) is bool else None

    @property
    def request_id(self) -> str | None:
        """The provider's name for the request, for its support."""
        found = self.error.get("request_id")
        return str(found) if found is not None else request_id_of(self.headers)


class AuthenticationError(APIError):
    """The key is missing or not accepted: correct the credentials. Not retried."""


class PermissionDeniedError(APIError):
    """The key is valid, but not for this model or feature: request access, or choose another model."""


class NotFoundError(APIError):
    """No such model, response or route at this provider: correct the name."""


class InvalidRequestError(APIError):
    """The provider refuses the request: correct it at `.error["param"]`."""


class ContextOverflowError(InvalidRequestError):
    """The conversation is longer than the model's window: shorten or compact it."""


class ContentFilterError(InvalidRequestError):
    """The provider's policy stands against the content: change it."""


class RateLimitError(APIError):
    """Too much at once: wait `.retry_after` seconds (retries do), or fall back to another model."""


class QuotaExceededError(APIError):
    """The account is used up: top it up. Waiting does not help, and nothing is tried again."""


class OverloadedError(APIError):
    """The provider has no capacity just now: try again later, or fall back to another model."""


class ServerError(APIError):
    """The provider failed, or sent something that is not a response: retry, or use a fallback."""


class APITimeoutError(APIError):
    """No response in time: raise `timeout=` (seconds), stream, or fall back. `status` is set if a server sent it."""


class APIConnectionError(APIError):
    """The provider could not be reached, or hung up before it answered: look at the base URL and the network."""


class StreamInterruptedError(APIError):
    """The answer broke off after it had begun: it is incomplete.

    Never tried again once something of it was handed out.

    >>> import unified_llm as ul
    >>> events = ul.Client().responses.create(model="local/echo", input="One two [[break after 5]]", stream=True)
    >>> try:
    ...     list(events)
    ... except StreamInterruptedError:
    ...     print(events.partial.status)
    in_progress
    """
