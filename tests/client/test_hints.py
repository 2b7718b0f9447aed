"""What a mistake is answered with: the name that was meant exists, and the fix in a hint works."""

from __future__ import annotations

import copy
import inspect
import pickle
import re
import subprocess
import sys
from typing import Any

import pytest
from pydantic import BaseModel

import unified_llm as ul
from client.providers import Canned, message, response
from unified_llm.client.inputs import unknown_arguments, unknown_attributes
from unified_llm.client.requests import OPTIONS
from unified_llm.types._tables import KEYS


def told(method: str = "create", **given: Any) -> str:
    canned = Canned("openai-responses", response(message("Hi")))
    with pytest.raises((TypeError, ValueError)) as caught:
        getattr(ul.Client(canned.upstream).responses, method)(**{"input": "Hi", **given})
    assert canned.requests == []
    return str(caught.value)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("text_format", "text_format= is an argument of client.responses.parse()"),
        ("system_prompt", "did you mean 'instructions'?"),
        ("max_tokens", "did you mean 'max_output_tokens'?"),
        ("messages", "did you mean 'input'?"),
        ("temprature", "did you mean 'temperature'?"),
        ("fallback_models", "did you mean 'models'?"),
        ("api_base", "did you mean 'base_url'?"),
        ("response_format", "client.responses.parse(text_format=...), or text={'format': {...}}"),
        ("reasoning_effort", "pass reasoning={'effort': ...}"),
        ("generation_config", "the settings in it are arguments of their own"),
        ("max_turns", "max_turns= is an argument of client.responses.run()"),
        ("max_turn", "max_turns= is an argument of client.responses.run()"),
        ("strategy", "strategy= is an argument of client.responses.parse()"),
        ("max_retries", "Client(max_retries=...)"),
        ("new_thing", "pass provider-specific fields in extra_body="),
    ],
)
def test_an_unknown_argument(name: str, hint: str) -> None:
    text = told(**{name: 1})
    assert text.startswith(f"unknown argument {name!r}; ")
    assert hint in text


CREATE = "use client.responses.create(model=..., input=...)"


@pytest.mark.parametrize("kind", [ul.Client, ul.AsyncClient])
@pytest.mark.parametrize(
    ("path", "hint"),
    [
        ("chat", CREATE),
        ("messages", CREATE),
        ("completions", CREATE),
        ("generate_content", CREATE),
        ("converse", CREATE),
        ("interactions", CREATE),
        ("models.generate_content", CREATE),
        ("stream", "stream=True)"),
        ("responses.stream", "stream=True)"),
        ("models.generate_content_stream", "stream=True)"),
        ("beta", "client.responses.parse(text_format=...)"),
        ("chats", "client.responses.create(previous=result, input=...)"),
        ("embeddings", "use the provider's SDK"),
        ("files", "use the provider's SDK"),
        ("create", "use client.responses.create(...)"),
        ("run", "use client.responses.run(...)"),
        ("models.retrieve", "unified_llm.models.get('provider/model')"),
        ("responses.count_tokens", "use client.count_tokens(model=..., input=...)"),
        ("aio", "use unified_llm.AsyncClient()"),
        ("response", "did you mean 'responses'?"),
        ("model", "did you mean 'models'?"),
        ("responses.creat", "did you mean 'create'?"),
        ("with_raw_response", ".raw, .headers and .request_id"),
    ],
)
def test_a_missing_attribute(kind: type, path: str, hint: str) -> None:
    *way, name = path.split(".")
    found: Any = kind()
    for each in way:
        found = getattr(found, each)
    assert not hasattr(found, name)
    with pytest.raises(AttributeError) as caught:
        getattr(found, name)
    text = str(caught.value)
    assert text.startswith(f"{type(found).__name__!r} object has no attribute {name!r}; ") and hint in text


def test_each_client_is_closed_in_its_own_way() -> None:
    with pytest.raises(AttributeError, match=r"use client\.close\(\)$"):
        ul.Client().aclose  # type: ignore[attr-defined]  # noqa: B018
    with pytest.raises(AttributeError, match=r"use await client\.aclose\(\)$"):
        ul.AsyncClient().close  # type: ignore[attr-defined]  # noqa: B018


@pytest.mark.parametrize("kind", [ul.Client, ul.AsyncClient])
def test_what_looks_for_attributes_finds_none(kind: type) -> None:
    client = kind()
    for each in (client, client.responses, client.models):
        for name in ("quantum", "_repr_html_", "__wrapped__", "_core_"):
            with pytest.raises(AttributeError, match=f"has no attribute '{name}'$"):
                getattr(each, name)
        assert getattr(each, "chat", None) is None
        assert not {"chat", "messages"} & {name for name, _ in inspect.getmembers(each)} | {"chat"} & set(dir(each))
        assert inspect.unwrap(each) is each and copy.copy(each) is not None
    assert copy.copy(client) is client and copy.deepcopy(client) is client
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(client)
    bare = object.__new__(kind)  # without its `__init__`: no endless search
    with pytest.raises(AttributeError, match="_core"):
        bare._core  # noqa: B018


def test_what_the_hints_of_attributes_name_exists() -> None:
    client = ul.Client()
    for name, hints in unknown_attributes._HINTS.items():
        target: Any = {"Client": client, "Responses": client.responses, "Models": client.models}[name]
        for missing, hint in hints.items():
            assert missing not in dir(target), missing
            for path in re.findall(r"(?:client|unified_llm)((?:\.[A-Za-z_]+)+)", hint):
                found: Any = client if f"client{path}" in hint else ul
                for each in path[1:].split("."):
                    found = getattr(found, each)
                assert callable(found)


def test_the_arguments_of_other_apis_are_no_arguments_here_and_what_is_meant_is() -> None:
    known = KEYS["request"] | OPTIONS
    assert set(unknown_arguments._ELSEWHERE.values()) <= known
    assert not (set(unknown_arguments._ELSEWHERE) | set(unknown_arguments._DONE)) & known
    assert not set(unknown_arguments._ELSEWHERE) & set(unknown_arguments._DONE)


def test_what_the_hints_say_works() -> None:
    class Person(BaseModel):
        name: str

    client = ul.Client(model="local/echo", retry=ul.Retry(attempts=2))
    assert client.responses.parse(input='{"name": "Ann"}', text_format=Person).output_parsed is not None
    assert client.responses.run(input="Hi", max_turns=3).output_text == "Hi"
    assert client.responses.create(
        input=["Hi", ul.image(b"\x89PNG"), ul.file(b"?", media_type="text/plain")],
        reasoning={"effort": "low", "budget_tokens": 1024},
        text={"verbosity": "low", "format": {"type": "text"}},
        extra_body={"new_thing": 1},
    ).output_text


@pytest.mark.parametrize(
    ("given", "path", "reason"),
    [
        ({"temperature": "hot"}, "/temperature", "Input should be a valid number"),
        ({"seed": "x"}, "/seed", "Input should be a valid integer"),
        ({"metadata": "x"}, "/metadata", "Input should be an object"),
        ({"reasoning": "high"}, "/reasoning", "Input should be an object"),
        ({"reasoning": {"efort": "low"}}, "/reasoning/efort", "unknown field 'efort'; did you mean 'effort'?"),
        ({"text": {"fromat": {}}}, "/text/fromat", "unknown field 'fromat'; did you mean 'format'?"),
        ({"text": {"format": {"type": "json_schema", "shema": {}}}}, "/text/format/shema", "did you mean 'schema'?"),
    ],
)
def test_a_setting_of_the_wrong_type_or_with_a_misspelled_field(given: Any, path: str, reason: str) -> None:
    text = told(**given)
    assert text.startswith(f"{path}: ")
    assert text.endswith(reason)


def test_a_field_of_a_setting_that_looks_like_none_is_new() -> None:
    canned = Canned("openai-responses", response(message("Hi")))
    result = ul.Client(canned.upstream).responses.create(input="Hi", reasoning={"effort": "low", "qqq": 1})
    assert canned.bodies[0]["reasoning"]["effort"] == "low"
    assert ("/reasoning/qqq", "lost") in [(loss.path, loss.fate) for loss in result.losses]


@pytest.mark.parametrize(
    ("name", "hint"),
    [("foo/bar", "no provider 'foo'"), ("gogle/x", "did you mean google"), ("gpt-5", "use 'openai/gpt-5' or pass")],
)
def test_an_unknown_provider_is_not_said_to_be_one_that_looks_nothing_like_it(name: str, hint: str) -> None:
    with pytest.raises((LookupError, ValueError), match=hint) as caught:
        ul.Client().responses.create(model=name, input="Hi")
    assert name != "foo/bar" or "did you mean" not in str(caught.value)


def test_an_unknown_provider_says_what_to_do() -> None:
    with pytest.raises(ul.UnknownProvider, match=r"`unified-llm models --providers` lists them; .* pass base_url="):
        ul.Client("foo")
    for made in (ul.Client, ul.Upstream.of):
        with pytest.raises(ul.UnknownProvider, match=r"no provider 'gpt-5.5'; did you mean .*openai/gpt-5.5"):
            made("gpt-5.5")


@pytest.mark.parametrize(
    ("given", "meant"), [("libary", "library"), ("serface", "surface"), ("total_timout", "total_timeout")]
)
def test_a_misspelled_option_of_a_transport(given: str, meant: str) -> None:
    with pytest.raises(TypeError, match=f"unknown argument '{given}'; did you mean '{meant}'"):
        ul.http_client("local/echo", **{given: "x"})


def test_a_misspelled_public_name_is_shown_with_the_nearest() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import unified_llm as ul; ul.Clinet"], capture_output=True, text=True, timeout=60
    )
    assert "has no attribute 'Clinet'. Did you mean: 'Client'?" in done.stderr


@pytest.mark.parametrize("made", [ul.Client, ul.AsyncClient])
def test_no_private_name_is_shown(made: Any) -> None:
    with pytest.raises(TypeError) as caught:
        made(apikey="x")
    assert "_Both" not in str(caught.value)
    assert "'apikey'" in str(caught.value)
