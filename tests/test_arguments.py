"""Arguments of another type are refused with their name, and objects that are not what they are given as."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pydantic
import pytest

import unified_llm as ul

CHAT = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
BOTH: dict[str, Any] = {"source": "openai-chat", "target": "openai-responses"}
MADE = ul.convert(CHAT, **BOTH).exchange
assert MADE is not None


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"model": 5}, "model: not a string but int"),
        ({"scope": 5}, "scope: not a string but int"),
        ({"http": "x"}, "http: not a mapping"),
        ({"vault": {}}, r"vault: dict lacks put\(key, items\) or get\(key\)"),
        ({"exchange": MADE.to_json()}, r"exchange: not an Exchange but dict; Exchange.from_json\(\) makes one"),
        ({"facing": "x"}, "facing: 'x' is not one of provider, client"),
        ({"repair": "x"}, "repair: 'x' is not one of auto, always, never"),
    ],
)
def test_an_argument_of_another_type_is_refused(given: dict[str, Any], reason: str) -> None:
    with pytest.raises(ul.InvalidArgument, match=f"^{reason}"):
        ul.convert(CHAT, **BOTH, **given)
    if "repair" not in given:
        with pytest.raises(ul.InvalidArgument, match=f"^{reason}"):
            list(ul.convert_stream([], **BOTH, **given))
    if "http" not in given:
        with pytest.raises(ul.InvalidArgument, match=f"^{reason}"):
            ul.write(ul.Request(model="m", input="Hi"), "openai-chat", **given)


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: ul.Retry(attempts="3"), "attempts: not a whole number of at least 1: '3'"),  # type: ignore[arg-type]
        (lambda: ul.Retry(attempts=0), "attempts: not a whole number of at least 1: 0"),
        (lambda: ul.Retry(base=-1), "base: not a number of at least 0: -1"),
        (lambda: ul.Retry(max_wait=float("nan")), "max_wait: not a number of at least 0: nan"),
        (lambda: ul.MemoryStore(limit=-1), "limit: not a whole number of at least 0: -1"),
        (lambda: list(ul.translate_sse(["data: x"], **BOTH)), r"translate_sse\(\) takes chunks of bytes, not str"),
    ],
)
def test_a_value_of_which_nothing_can_be_made_is_refused(make: Callable[[], Any], reason: str) -> None:
    with pytest.raises(ul.InvalidArgument, match=reason):
        make()


def test_an_exchange_comes_from_its_json_alone() -> None:
    assert MADE is not None
    newer = {**MADE.to_json(), "of a newer version": 1}
    assert ul.Exchange.from_json(newer) == MADE
    for wrong, path in ((json.dumps(newer), ""), ({}, "/source"), ({**newer, "target": 1}, "/target")):
        with pytest.raises(ul.InvalidBody) as caught:
            ul.Exchange.from_json(wrong)  # type: ignore[arg-type]
        assert caught.value.path == path


def test_an_object_is_written_as_what_it_is() -> None:
    with pytest.raises(ul.InvalidBody, match="Message is not a canonical request; put it into a Request"):
        ul.write(ul.Message(role="user", content="Hi"), "openai-chat")
    answer = ul.Client(model="local/echo").responses.create(input="Hi")
    with pytest.raises(ul.InvalidBody, match="Result is not a canonical request; pass kind='response'"):
        ul.write(answer, "openai-chat")
    assert ul.write(answer, "openai-chat", "response").value["choices"][0]["message"]["content"] == "Hi"
    alone = {"type": "rate_limit", "message": "slow down"}
    found = [ul.write(each, "openai-chat", "error").value for each in (alone, {"error": alone})]
    assert found[0] == found[1] and found[0]["error"]["message"] == "slow down"


def test_a_message_may_lack_its_type() -> None:
    node = {"model": "m", "input": [{"role": "user", "content": "Hi"}]}
    assert ul.write(node, "openai-chat").value == CHAT
    assert node["input"] == [{"role": "user", "content": "Hi"}]


class Noted(ul.Message):
    """A message with a field of the caller's."""

    note: str | None = None


class Priced(ul.FunctionTool):
    """A tool with a field of the caller's."""

    price: int = 0


def test_fields_of_subclasses_are_written_or_reported() -> None:
    request = ul.Request(
        model="m", input=[Noted(role="user", content="Hi", note="private")], tools=[Priced(name="f", price=7)]
    )
    found, wanted = (ul.write(each, "openai-responses") for each in (request, ul.dump(request)))
    assert found == wanted and {"/input/0/note", "/tools/0/price"} <= {loss.path for loss in found.losses}


def test_a_client_sends_or_reports_fields_of_subclasses() -> None:
    class Part(pydantic.BaseModel):
        type: str
        text: str

    class Noted(Part):
        note: str

    class Holder(pydantic.BaseModel):
        role: str
        content: list[Part]

    given = Holder(role="user", content=[Noted(type="input_text", text="Hi", note="private")])
    answer = ul.Client(model="local/echo").responses.create(input=[given])
    assert '"note":"private"' in json.dumps(answer.request, separators=(",", ":"))
