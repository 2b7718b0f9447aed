"""An argument of the wrong type is refused by name, with what it takes, before anything is sent; no secret is shown."""

from __future__ import annotations

import inspect
import math
from typing import Any

import httpx2
import pytest

import unified_llm as ul
from client.providers import Canned, message, response
from unified_llm.client.inputs.argument_types import ARGUMENTS, SETTINGS
from unified_llm.client.params import Asked, ParseOptions, RunOptions
from unified_llm.types._tables import KEYS

SECRET = "sk-very-secret"
NO_MODEL = (1, ["local/echo"], b"local/echo", {"a": 1}, True, ul.Upstream)
NO_TABLE = (1, SECRET, [SECRET], [("x", SECRET)], {1: SECRET})
NO_FUNCTION = (1, "x", True)

ASKED: dict[str, tuple[Any, ...]] = {
    "model": NO_MODEL,
    "models": ("local/echo", b"x", 1, [1], [None], {"a": 1}, [["a"]]),
    "upstream": NO_MODEL,
    "protocol": (1, ["openai-chat"]),
    "timeout": (-1, 0, "1", True, [1], math.nan, (1, 2), (1, 1, 1, -1)),
    "api_key": (1, b"k", [SECRET], {"local": 1}, {1: SECRET}),
    "base_url": (1, b"http://x"),
    "extra_headers": (*NO_TABLE, {"a": 1}, {"a": None}, {"a": [SECRET]}),
    "extra_query": (*NO_TABLE, {"a": object()}, {"a": {"b": SECRET}}),
    "extra_body": NO_TABLE,
}
PARSED = {"retries": (-1, 1.5, "x", True), "name": (1, ["x"])}
RUN = {
    "approve": NO_FUNCTION,
    "parallel": ("x", 1),
    "hooks": (1, "x", {}, object(), ul.Hooks),
    "on_step": NO_FUNCTION,
}
CLIENT = {
    "headers": ASKED["extra_headers"],
    "vault": (1, {}.keys(), ul.MemoryVault),
    "secret": (1, [1], {"a": 1}),
    "retry": (1, {}, ul.Retry),
    "max_retries": (-1, 1.5, "2"),
    "http_client": (1, "x", httpx2.Client),
    "limits": (1, {}),
    "store": (1, {}, ul.MemoryStore),
    "on_request": NO_FUNCTION,
    "on_response": NO_FUNCTION,
    "on_retry": NO_FUNCTION,
    "tracer_provider": (1, object()),
    "meter_provider": (1, object()),
}
# Checked where their rules are; the errors are typed as well.
ELSEWHERE: dict[str, tuple[Any, ...]] = {
    "context": (),
    "on_loss": (1, ["raise"], {1: "raise"}),
    "previous": (1, "resp_1", object(), {"a": 1}),
    "strategy": (1, "x"),
    "total_timeout": (-1, 0, "x", True, math.nan),
    "max_turns": (-1, "x"),
    "max_total_tokens": (-1, "x"),
    "max_cost": (-1, "x"),
}


class Person:
    pass


def refused(name: str, value: Any, ask: Any, **given: Any) -> None:
    with pytest.raises((ul.InvalidArgument, ul.InvalidBody)) as caught:
        ask(**{**given, name: value})
    text = str(caught.value)
    expected = SETTINGS.get(name)
    assert SECRET not in text and name in text, (name, value, text)
    if expected is not None:
        assert text.startswith(f"{name}= should be {expected.words}, not "), (name, value, text)


def test_every_argument_is_declared_here_or_checked_elsewhere() -> None:
    client = inspect.signature(ul.Client).parameters
    known = {*Asked.__annotations__, *ParseOptions.__annotations__, *RunOptions.__annotations__, *client}
    assert known <= SETTINGS.keys() | ELSEWHERE.keys()
    assert ARGUMENTS.keys() - {"limit"} == {*ASKED, *PARSED, *RUN}
    assert SETTINGS.keys() - ARGUMENTS.keys() == {*CLIENT}
    assert not SETTINGS.keys() & ELSEWHERE.keys()
    assert ARGUMENTS.keys() & KEYS["request"] == {"model"}, "the request checks its own fields"


@pytest.mark.parametrize("method", ["create", "parse", "run"])
def test_what_an_argument_does_not_take(method: str) -> None:
    canned = Canned("openai-responses", response(message("Hi")))
    ask = getattr(ul.Client(canned.upstream).responses, method)
    given: dict[str, Any] = {"input": "Hi", **({"text_format": dict} if method != "create" else {})}
    table: dict[str, tuple[Any, ...]] = {**ASKED, **(PARSED if method != "create" else {})}
    for name, values in {**table, **(RUN if method == "run" else {})}.items():
        for value in values:
            refused(name, value, ask, **given)
    for name, values in ELSEWHERE.items():
        for value in values:
            if name in inspect.signature(ask).parameters:
                refused(name, value, ask, **given)
    assert canned.requests == []


def test_what_a_client_does_not_take() -> None:
    takes = inspect.signature(ul.Client).parameters
    for kind in (ul.Client, ul.AsyncClient):
        for name, values in {**ASKED, **CLIENT}.items():
            for value in values if name in takes else ():
                refused(name, value, kind)
    for value in ELSEWHERE["total_timeout"]:
        refused("total_timeout", value, ul.Client)


def test_what_names_no_response_and_no_model() -> None:
    client = ul.Client(model="local/echo")
    for ask in (client.responses.retrieve, client.responses.cancel, client.responses.delete):
        for value in (1, None, object(), ["id"]):
            with pytest.raises(ul.InvalidArgument, match=r"^response= should be the id of a response, a Result or"):
                ask(value)
        refused("upstream", 1, lambda upstream, ask=ask: ask("id", upstream=upstream))
    refused("limit", "x", client.models.list)
    with pytest.raises(ul.InvalidArgument, match=r"^upstream= should be a provider"):
        client.models.list(1)


def test_what_is_not_a_type_of_structured_output() -> None:
    with pytest.raises(ul.InvalidArgument, match=r"^text_format="):
        ul.Client().responses.run(model="local/echo", input="Hi", text_format=1)
    with pytest.raises(ul.InvalidArgument, match=r"^secret should be"):
        ul.convert({"model": "m", "input": "Hi"}, source="openai-responses", target="openai-chat", secret=1)  # type: ignore[arg-type]


def test_what_arguments_take() -> None:
    class Keeping:
        def get(self, id: str) -> None:
            return None

        def put(self, id: str, turn: Any) -> None: ...
        def delete(self, id: str) -> bool:
            return False

    canned = Canned("openai-responses", *[response(message("[1]"))] * 20)
    client = ul.Client(
        canned.upstream, vault=ul.MemoryVault(), store=Keeping(), secret=["a", b"b"], retry=ul.Retry.never()
    )
    for given in (
        {"timeout": 1},
        {"timeout": httpx2.Timeout(1.0)},
        {"timeout": (1, 1.5, None, 2)},
        {"extra_headers": {"x-a": "b"}, "extra_query": {"a": [1, "b"], "c": None, "d": True}, "extra_body": {"a": {}}},
        {"api_key": lambda: "k"},
        {"api_key": {"openai": "k", "local": lambda: "k"}},
        {"models": ("m", canned.upstream)},
        {name: None for name in ARGUMENTS if name in Asked.__annotations__ and name != "models"},
    ):
        assert client.responses.create(input="Hi", **given).output_text == "[1]"  # type: ignore[call-overload]
    more: dict[str, Any] = {"text_format": list, "retries": 0, "name": "n", "strategy": "native"}
    more |= {"parallel": False, "approve": print, "on_step": print, "hooks": ul.Hooks()}
    run = client.responses.run(input="Hi", **more)
    assert run.output_parsed == [1]
