"""What is done with a mutant: families, each a function from dice to one `Case`.

documents   wire documents of every kind, as values and as bytes: converted, previewed, read, written, answered
streams     wire events and bytes of streams: converted, read and collected, whatever the chunks
canonical   canonical documents and events, as callers may pass them: written, decomposed, collected
transports  hostile upstreams under the client and under the transport that official SDKs are given; no network
gateway     requests to a gateway, over HTTP on this machine; only on request (`--family gateway`)

Only public names of the library are used. A case does the same each time it is run, so a failure can be shrunk.
"""

from __future__ import annotations

import importlib
import json
import random
from collections.abc import Callable
from typing import Any, NamedTuple

import httpx2

import unified_llm as ul
from corpus import records

from .mutation import chunks, mutate, mutate_bytes, places

__all__ = ["FAMILIES", "Case", "Seeds", "Unexpected"]

DIALECTS = ("openai-responses:open-responses", "google-generate-content:vertex", "openai-chat:deepseek",
            "openai-chat:mistral", "openai-chat:openrouter", "openai-chat:groq", "openai-chat:ollama")  # fmt: skip
ROUTES = {
    "openai-chat": "v1/chat/completions",
    "openai-responses": "v1/responses",
    "anthropic-messages": "v1/messages",
    "google-generate-content": "v1beta/models/m:generateContent",
    "google-interactions": "v1beta/interactions",
    "amazon-converse": "model/m/converse",
}
STREAMED = {
    **ROUTES,
    "google-generate-content": "v1beta/models/m:streamGenerateContent?alt=sse",
    "amazon-converse": "model/m/converse-stream",
}
_LARGEST = 20_000  # bytes of a record: larger ones are slow to mutate, and hold nothing that smaller ones lack


class Unexpected(AssertionError):
    """An error of the right class that is not specific enough, or a result that should not be."""


class Case(NamedTuple):
    """A mutant and what is done with it; `run` raises whatever should not have been raised."""

    title: str
    value: Any
    run: Callable[[Any], None]


class Seeds:
    """The documents that mutants are made of: the fixtures, and the recorded ones where there are any."""

    def __init__(self) -> None:
        self.protocols = sorted(ul.protocols())
        self.by: dict[tuple[str, str], list[Any]] = {}
        for record in records():
            value = record["events"] if record["kind"] == "stream" else record["body"]
            size = len(json.dumps(value))
            if size <= _LARGEST:
                self.by.setdefault((record["protocol"], record["kind"]), []).append((size, value))
        for key, found in self.by.items():
            self.by[key] = [value for _, value in sorted(found, key=lambda pair: pair[0])]
        dice = random.Random(0)
        self.pool: list[Any] = []
        words: set[str] = set()
        for _ in range(400):
            for path, node in places(self.pick(dice, *dice.choice(sorted(self.by))))[:100]:
                if type(node) in (dict, list) and len(str(node)) < 1_500:
                    self.pool.append(node)
                words.update(each for each in (node, *path[-1:]) if type(each) is str and len(each) < 30)
        self.words = sorted(words)

    def pick(self, dice: random.Random, protocol: str, kind: str) -> Any:
        """A document, a small one more often than a large one."""
        found = self.by[protocol, kind]
        return found[int(len(found) * dice.random() ** 2)]

    def mutant(self, dice: random.Random, value: Any, *, calm: bool = False) -> Any:
        """A mutant of a document; `calm` leaves it as it is now and then."""
        times = dice.choice((0, 1, 2, 4) if calm else (1, 1, 2, 4, 8))
        return mutate(value, dice, self.pool, self.words, times)

    def target(self, dice: random.Random) -> str:
        """A protocol, with a dialect now and then."""
        return dice.choice(self.protocols) if dice.random() < 0.8 else dice.choice(DIALECTS)


# ---- what may be raised ---------------------------------------------------------------------------------------------


def attempt(work: Callable[[], Any], *allowed: type[Exception]) -> Any:
    """What `work` gives; None where it raises an error of ours with place and reason."""
    try:
        return work()
    except ul.UnifiedLLMError as error:
        # What a provider says of its failure may be one letter.
        if not str(error) or not repr(error):
            raise Unexpected(f"{type(error).__name__} gives no reason") from error
        if isinstance(error, ul.InvalidBody) and (not isinstance(error.path, str) or len(error.reason) < 5):
            raise Unexpected(f"InvalidBody without path or reason: {error}") from error
    except allowed:
        pass
    return None


def as_bytes(value: Any) -> bytes | None:
    """The JSON text of a mutant, lone surrogates and NaN in it as they are; None for what is too deep to print."""
    try:
        return json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")
    except (RecursionError, ValueError):
        return None


def sse(events: Any) -> bytes:
    """The bytes of a stream of wire events, as broken as they are."""
    out = []
    for event in events if type(events) is list else [events]:
        name = event.get("event") if type(event) is dict else None
        data = event.get("data") if type(event) is dict else event
        text = data if type(data) is str else (as_bytes(data) or b"{").decode("utf-8", "surrogatepass")
        lines = [f"event: {name}"] if type(name) is str else []
        lines += [f"data: {line}" for line in text.split("\n")]
        out.append("\n".join([*lines, "", ""]).encode("utf-8", "surrogatepass"))
    return b"".join(out)


def framed(value: Any) -> list[dict[str, Any]]:
    """What a transport hands over always has this form, whatever it contains."""
    return [
        {"event": each.get("event") if type(each.get("event")) is str else None, "data": each.get("data")}
        if type(each) is dict
        else {"event": None, "data": each}
        for each in (value if type(value) is list else [value])
    ]


# ---- families -------------------------------------------------------------------------------------------------------


def documents(dice: random.Random, seeds: Seeds) -> Case:
    kind = dice.choices(("request", "response", "error"), (6, 4, 1))[0]
    source = dice.choice(seeds.protocols)
    value = seeds.mutant(dice, seeds.pick(dice, source, kind))
    target = seeds.target(dice)
    options = _options(dice)
    if kind == "request" and dice.random() < 0.3:
        options["repair"] = dice.choice(("always", "never"))
    if dice.random() < 0.2:
        after = dice.choice(("5", "x", "-1", "9" * 400, "Wed, 21 Oct 99999 07:28:00 GMT"))
        path = dice.choice(("models/x:generateContent", "x", "models/a/b:streamGenerateContent"))
        status = dice.choice((200, 400, 429, 500))
        options["http"] = {"status": status, "headers": {"retry-after": after}, "path": path, "query": {}}
    vault = dice.random() < 0.3
    how, raw, strict = dice.random(), dice.random() < 0.4, dice.random() < 0.2
    answer = seeds.mutant(dice, seeds.pick(dice, target.partition(":")[0], "response"), calm=True)

    def run(value: Any) -> None:
        more = {**options, "vault": ul.MemoryVault()} if vault else options
        body = as_bytes(value) if raw else None
        given = value if body is None else body
        done = attempt(lambda: ul.convert(given, source=source, target=target, kind=kind, **more))
        if done is not None:
            str(done.losses), repr(list(done.losses)), done.losses.survives("reasoning.*")
        if how < 0.15:
            attempt(lambda: ul.preview(value, source=source, target=target, kind=kind))
        elif how < 0.3 and done is not None:
            attempt(lambda: ul.to_sdk(done.value, target, kind))
        elif how < 0.6:
            node = attempt(lambda: ul.read(value, source, kind, strict=strict))
            if node is not None:
                attempt(lambda: ul.write(node, target, kind))
        elif how < 0.8 and kind == "request" and done is not None:
            back = {"source": target, "target": source, "kind": "response", "exchange": done.exchange}
            attempt(lambda: ul.convert(answer, **back))

    return Case(f"{kind} of {source} to {target} {options}", value, run)


def streams(dice: random.Random, seeds: Seeds) -> Case:
    source, target = dice.choice(seeds.protocols), seeds.target(dice)
    value = seeds.mutant(dice, seeds.pick(dice, source, "stream"))
    options, how = _options(dice), dice.random()
    if how < 0.3:

        def converted(value: Any) -> None:
            def work() -> None:
                stream = ul.convert_stream(
                    value if how < 0.1 else framed(value), source=source, target=target, **options
                )
                list(stream)
                list(stream.losses)

            attempt(work)

        return Case(f"events of {source} to {target} {options}", value if type(value) is list else [value], converted)
    if how < 0.55:

        def collected(value: Any) -> None:
            events = attempt(lambda: list(ul.read_stream(framed(value), source)))
            if events is not None:
                attempt(lambda: ul.collect(events))
                attempt(lambda: list(ul.write_stream(events, target)))

        return Case(f"events of {source} collected, and written to {target}", value, collected)
    raw = sse(value)
    if dice.random() < 0.5:
        raw = mutate_bytes(raw, dice, dice.choice((1, 3, 10)))
    cut = dice.randrange(2**32)

    def translated(raw: bytes) -> None:
        def result(parts: list[bytes]) -> tuple[bytes, str]:
            out = []
            try:
                for chunk in ul.translate_sse(parts, source=source, target=target, **options):
                    out.append(chunk)
            except ul.UnifiedLLMError as error:
                return b"".join(out), f"{type(error).__name__}: {error}"
            return b"".join(out), ""

        whole, parts = result([raw]), result(chunks(raw, random.Random(cut)))
        if whole != parts:
            raise Unexpected(f"other chunks, another stream: {whole!r:.300} and {parts!r:.300}")

    return Case(f"bytes of {source} to {target} {options}", raw, translated)


def canonical(dice: random.Random, seeds: Seeds) -> Case:
    kind = dice.choices(("request", "response", "error"), (5, 5, 1))[0]
    source, target = dice.choice(seeds.protocols), seeds.target(dice)
    node = attempt(lambda: ul.read(seeds.pick(dice, source, kind), source, kind))
    whole = node.model_dump(mode="json", by_alias=True, exclude_unset=True) if node is not None else {}
    how = dice.random()
    if kind != "response" or how < 0.4:
        value = seeds.mutant(dice, whole)
        options = _options(dice, "facing", "scope", "model")
        return Case(
            f"canonical {kind} written to {target} {options}",
            value,
            lambda value: attempt(lambda: ul.write(value, target, kind, **options)),
        )
    if how < 0.6:

        def decomposed(value: Any) -> None:
            events = attempt(lambda: list(ul.decompose(value)))
            if events is not None:
                attempt(lambda: ul.collect(events))

        return Case("canonical response decomposed", seeds.mutant(dice, whole), decomposed)
    events = seeds.mutant(dice, list(ul.decompose(whole)))

    def folded(value: Any) -> None:
        given = value if type(value) is list else [value]
        attempt(lambda: ul.collect(given))
        attempt(lambda: list(ul.write_stream(given, target)))

    return Case(f"canonical events collected, and written to {target}", events, folded)


_INPUT: list[Any] = [
    {"type": "message", "role": "user", "content": [
        {"type": "input_text", "text": "a"}, {"type": "input_image", "image_url": "https://a.example/b"}]},
    {"type": "reasoning", "summary": [{"type": "summary_text", "text": "x"}]},
    {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "c", "output": "x"},
]  # fmt: skip


def transports(dice: random.Random, seeds: Seeds) -> Case:
    surface, upstream = dice.choice(seeds.protocols), dice.choice(seeds.protocols)
    streamed = dice.random() < 0.5
    kind = dice.choices(("stream" if streamed else "response", "error", "stream", "response"), (8, 1, 1, 1))[0]
    answer = seeds.mutant(dice, seeds.pick(dice, upstream, kind), calm=True)
    raw, media, status = as_bytes(answer) or b"{}", "application/json", 200
    if kind == "stream":
        raw, media = sse(answer), "text/event-stream"
    elif kind == "error":
        status = dice.choice((400, 401, 404, 429, 500, 503))
    if dice.random() < 0.2:
        raw = mutate_bytes(raw, dice, dice.choice((1, 3)))
    request = seeds.mutant(dice, seeds.pick(dice, surface, "request"), calm=True)
    if type(request) is dict and surface != "google-generate-content":
        request = {**request, "stream": streamed}
    given = seeds.mutant(dice, _INPUT) if dice.random() < 0.4 else "hi"

    def run(value: Any) -> None:
        raw, request, given = value
        headers = [(b"content-type", media.encode()), (b"x-request-id", b"\xe9")]
        mock = httpx2.MockTransport(lambda _: httpx2.Response(status, content=raw, headers=headers))
        place = ul.Upstream(protocol=upstream, base_url="http://127.0.0.1/v1", model="m")
        with httpx2.Client(transport=mock) as below:
            body = as_bytes(request)
            if body is not None:
                with ul.http_client(place, http_client=below) as http:
                    route = (STREAMED if streamed else ROUTES)[surface]
                    attempt(lambda: http.post(f"http://any/{route}", content=body).read(), httpx2.HTTPError)
            with ul.Client(place, http_client=below, retry=ul.Retry.never()) as client:
                attempt(lambda: _asked(client, given, streamed))

    return Case(f"{surface} over {upstream}, {kind} as {media} with status {status}", (raw, request, given), run)


def _asked(client: ul.Client, given: Any, streamed: bool) -> None:
    found = client.responses.create(input=given, stream=streamed)
    if streamed:
        list(found)
        found.get_final_response()
    else:
        repr(found), found.output_text, found.cost, found.tool_calls, found.items


def _options(dice: random.Random, *names: str) -> dict[str, Any]:
    all_: dict[str, tuple[float, tuple[Any, ...]]] = {
        "facing": (0.2, ("provider", "client")),
        "scope": (0.1, ("s",)),
        "model": (0.1, ("m", "claude-opus-4-7", "gemini-3-pro-preview", "gpt-5.5", "../x", "a b")),
    }
    return {name: dice.choice(values) for name, (often, values) in all_.items() if dice.random() < often}


FAMILIES: dict[str, Callable[[random.Random, Seeds], Case]] = {
    "documents": documents,
    "streams": streams,
    "canonical": canonical,
    "transports": transports,
    "gateway": lambda dice, seeds: importlib.import_module("fuzz.gateway_cases").gateway(dice, seeds),  # needs extras
}
