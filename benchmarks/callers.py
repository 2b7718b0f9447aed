"""The contenders in the rows about clients; each in a process of its own, with the libraries it requires.

Every contender is used as in its documentation, made once and kept: clients, connections and schemas are warm. The
answer's text is looked at, because an answer that is not looked at may not have been read at all.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, NamedTuple

CHAT, RESPONSES, MESSAGES = "chat", "responses", "messages"
PROTOCOLS = {CHAT: "openai-chat", RESPONSES: "openai-responses", MESSAGES: "anthropic-messages"}
PATHS = {CHAT: "/v1/chat/completions", RESPONSES: "/v1/responses", MESSAGES: "/v1/messages"}
KEY = "sk-loopback"
Json = dict[str, Any]

# By the shape of what comes back: the text of a whole answer, and of one event.
_TEXT: dict[str, Callable[[Any], str]] = {
    CHAT: lambda answer: answer.choices[0].message.content,
    RESPONSES: lambda answer: answer.output_text,
    MESSAGES: lambda answer: answer.content[0].text,
}
_DELTA: dict[str, Callable[[Any], str]] = {
    CHAT: lambda chunk: (chunk.choices[0].delta.content or "") if chunk.choices else "",
    RESPONSES: lambda event: event.delta if event.type == "response.output_text.delta" else "",
    MESSAGES: lambda event: getattr(event.delta, "text", "") if event.type == "content_block_delta" else "",
}


class Way(NamedTuple):
    """The shape of the request, and the protocol of the server; with a `size`, which of the requests."""

    surface: str
    wire: str
    size: str = "short"

    @property
    def same(self) -> bool:
        """Whether nothing would have to be translated for an SDK."""
        return self.surface == self.wire


class Unsupported(Exception):
    """The contender has no call for this job."""


class Caller:
    """A way to call a server. `held` is the server that waits after the first text.

    `spec` has the server's port, the bodies of requests by surface and size, and how many events a protocol's stream
    has up to its first text; and a model of each protocol.
    """

    distributions: tuple[str, ...] = ()

    def __init__(self, spec: Json) -> None:
        self.spec, self.port = spec, spec["port"]
        self.load()

    def load(self) -> None:
        """Import what is called."""

    def base(self, held: bool) -> str:
        """The server's URL, before any version."""
        return f"http://127.0.0.1:{self.port}{'/held' if held else ''}"

    def surface(self, way: Way) -> str:
        """The shape of requests and answers on the caller's side."""
        return way.surface

    def call(self, way: Way, held: bool, asynchronous: bool) -> tuple[Callable[..., Any], Json]:
        """The function, and what it is given beside the request."""
        raise NotImplementedError

    def _given(self, way: Way, held: bool = False, asynchronous: bool = False) -> tuple[Any, Json, str]:
        surface = self.surface(way)
        function, options = self.call(way, held, asynchronous)
        return function, {**self.spec["bodies"][f"{surface}-{way.size}"], **options}, surface

    def text(self, surface: str) -> Callable[[Any], str]:
        """How a whole answer's text is looked at."""
        return _TEXT[surface]

    def delta(self, surface: str) -> Callable[[Any], str]:
        """How the text of one event is looked at."""
        return _DELTA[surface]

    def plain(self, way: Way) -> Callable[[], str]:
        """A call that gives the answer's text."""
        function, given, surface = self._given(way)
        text = self.text(surface)
        return lambda: text(function(**given))

    def stream(self, way: Way, held: bool) -> Callable[[], Iterator[str]]:
        """A call that gives the texts of the stream's events, empty for those that have none."""
        function, given, surface = self._given(way, held)
        delta = self.delta(surface)
        return lambda: map(delta, function(**given, stream=True))

    def aplain(self, way: Way) -> Callable[[], Any]:
        function, given, surface = self._given(way, asynchronous=True)
        text = self.text(surface)

        async def run() -> str:
            return text(await function(**given))

        return run

    def astream(self, way: Way) -> Callable[[], AsyncIterator[str]]:
        function, given, surface = self._given(way, asynchronous=True)
        delta = self.delta(surface)

        async def run() -> AsyncIterator[str]:
            async for event in await function(**given, stream=True):
                yield delta(event)

        return run


class Floor(Caller):
    """The bytes of the request out, the bytes of the answer in and parsed, with the HTTP library alone."""

    distributions = ("httpx2",)

    def load(self) -> None:
        import httpx2
        import orjson

        self.client, self.aclient = httpx2.Client(), httpx2.AsyncClient()
        self.loads, self.dumps = orjson.loads, orjson.dumps

    def _request(self, way: Way, held: bool = False, stream: bool = False) -> Json:
        body = self.spec["bodies"][f"{way.wire}-{way.size}"]
        return {
            "method": "POST",
            "url": self.base(held) + PATHS[way.wire],
            "content": self.dumps({**body, "stream": True} if stream else body),
            "headers": {"content-type": "application/json", "authorization": f"Bearer {KEY}"},
        }

    def plain(self, way: Way) -> Callable[[], str]:
        request = self._request(way)
        return lambda: str(self.loads(self.client.request(**request).content))

    def stream(self, way: Way, held: bool) -> Callable[[], Iterator[str]]:
        request, shown = self._request(way, held, True), self.spec["shown"][way.wire]

        def run() -> Iterator[str]:
            seen = 0
            with self.client.stream(**request) as answer:
                for chunk in answer.iter_bytes():
                    seen += chunk.count(b"data: ")
                    if seen >= shown:
                        yield "."

        return run

    def aplain(self, way: Way) -> Callable[[], Any]:
        request = self._request(way)

        async def run() -> str:
            return str(self.loads((await self.aclient.request(**request)).content))

        return run

    def astream(self, way: Way) -> Callable[[], AsyncIterator[str]]:
        request = self._request(way, stream=True)

        async def run() -> AsyncIterator[str]:
            async with self.aclient.stream(**request) as answer:
                async for _ in answer.aiter_bytes():
                    yield "."

        return run


class SDK(Caller):
    """The official SDK of a surface, on a server of that protocol."""

    distributions = ("openai", "anthropic")

    def load(self) -> None:
        import anthropic
        import openai

        self.openai, self.anthropic = openai, anthropic

    def options(self, way: Way, held: bool, asynchronous: bool) -> Json:
        """How the SDK's client is made."""
        return {"api_key": KEY, "base_url": self.base(held) + ("" if way.surface == MESSAGES else "/v1")}

    def call(self, way: Way, held: bool, asynchronous: bool) -> tuple[Callable[..., Any], Json]:
        options, prefix = self.options(way, held, asynchronous), "Async" if asynchronous else ""
        if way.surface == MESSAGES:
            return getattr(self.anthropic, f"{prefix}Anthropic")(**options).messages.create, {}
        client = getattr(self.openai, f"{prefix}OpenAI")(**options)
        return (client.responses if way.surface == RESPONSES else client.chat.completions).create, {}


class Ours(Caller):
    """unified_llm's Client, on an upstream of the server's protocol."""

    distributions = ("unified-llm",)

    def load(self) -> None:
        import unified_llm

        self.lib: Any = unified_llm

    def surface(self, way: Way) -> str:
        return RESPONSES

    def call(self, way: Way, held: bool, asynchronous: bool) -> tuple[Callable[..., Any], Json]:
        kind = self.lib.AsyncClient if asynchronous else self.lib.Client
        return kind(f"{self.base(held)}/v1", protocol=PROTOCOLS[way.wire], api_key=KEY).responses.create, {}


class Under(SDK):
    """The official SDK of a surface, with our transport below it, on a server of another protocol."""

    distributions = ("unified-llm",)

    def load(self) -> None:
        super().load()
        import unified_llm

        self.lib: Any = unified_llm

    def options(self, way: Way, held: bool, asynchronous: bool) -> Json:
        make = self.lib.async_http_client if asynchronous else self.lib.http_client
        made = make(f"{self.base(held)}/v1", protocol=PROTOCOLS[way.wire], api_key=KEY)
        return {"api_key": "unused", "http_client": made}


class LiteLLM(Caller):
    """Its one API for everybody (`completion`; `responses` for Responses), or its call in the shape of a surface."""

    distributions = ("litellm",)

    def load(self) -> None:
        os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # else its import fetches prices online
        import litellm

        litellm.suppress_debug_info = True
        self.lib: Any = litellm

    def surface(self, way: Way) -> str:
        return CHAT if way.same and way.wire == MESSAGES else way.surface

    def text(self, surface: str) -> Callable[[Any], str]:
        return _LOOSE[surface]

    def delta(self, surface: str) -> Callable[[Any], str]:
        return _loose_delta if surface == MESSAGES else _DELTA[surface]

    def call(self, way: Way, held: bool, asynchronous: bool) -> tuple[Callable[..., Any], Json]:
        surface, a = self.surface(way), "a" if asynchronous else ""
        messages = way.wire == MESSAGES
        prefix, base = ("anthropic/", self.base(held)) if messages else ("openai/", f"{self.base(held)}/v1")
        options = {"model": prefix + self.spec["models"][way.wire], "api_key": KEY, "api_base": base}
        if surface == MESSAGES:
            return getattr(self.lib.anthropic.messages, f"{a}create"), options
        return getattr(self.lib, f"{a}responses" if surface == RESPONSES else f"{a}completion"), {
            **options,
            "drop_params": True,
        }


class AnyLLM(LiteLLM):
    """A provider's object that is made once, and its methods of the same kinds."""

    distributions = ("any-llm-sdk",)

    def load(self) -> None:
        import any_llm

        self.lib = any_llm

    def call(self, way: Way, held: bool, asynchronous: bool) -> tuple[Callable[..., Any], Json]:
        messages = way.wire == MESSAGES
        provider, base = ("anthropic", self.base(held)) if messages else ("openai", f"{self.base(held)}/v1")
        made = self.lib.AnyLLM.create(provider, api_key=KEY, api_base=base)
        name = {CHAT: "completion", RESPONSES: "responses", MESSAGES: "messages"}[self.surface(way)]
        return getattr(made, f"a{name}" if asynchronous else name), {}

    def _given(self, way: Way, held: bool = False, asynchronous: bool = False) -> tuple[Any, Json, str]:
        function, given, surface = super()._given(way, held, asynchronous)
        return function, {"input_data" if key == "input" else key: each for key, each in given.items()}, surface


def _get(value: Any, key: Any) -> Any:
    return value[key] if isinstance(value, (dict, list)) else getattr(value, key)


# Some of their answers are dicts, and some have no shorthand for the text.
_LOOSE: dict[str, Callable[[Any], str]] = {
    CHAT: _TEXT[CHAT],
    RESPONSES: lambda answer: str(answer.output[0].content[0].text),
    MESSAGES: lambda answer: str(_get(_get(_get(answer, "content"), 0), "text")),
}


def _loose_delta(event: Any) -> str:
    if isinstance(event, bytes):
        return "." if b"text_delta" in event else ""
    return _DELTA[MESSAGES](event)


CALLERS = {"floor": Floor, "sdk": SDK, "ours": Ours, "under": Under, "litellm": LiteLLM, "any-llm": AnyLLM}
