"""What is done for many at once is what would be done for each: texts parsed together, losses reported together."""

from __future__ import annotations

import json
from typing import Any

import pytest

import unified_llm as ul
from unified_llm.foundation.generated_ids import made_among, made_id
from unified_llm.foundation.json_codec import dump_text, load_text
from unified_llm.foundation.json_texts import load_all, load_exact, load_objects

CHAT, MESSAGES = "openai-chat", "anthropic-messages"
GEMINI, STEPS = "google-generate-content", "google-interactions"

TEXTS = ['{"a": 1}', "{}", '{"b":[1,{"c":null}]}', "[2]", '"word"', "7", "1.5", "true", "null", ' {"d":"ü"} ']


def test_texts_that_are_parsed_together_have_the_values_they_have_alone() -> None:
    assert load_all(TEXTS) == [load_text(text) for text in TEXTS]


@pytest.mark.parametrize(
    "texts",
    [
        ['{"a":[{}', "{}]}", "{},{}"],
        ['{"a":[{}', "{}]}", "{},{},{}"],
        ["1,2", ""],
        ["{}", ""],
        ["{}", "Hi"],
        ["{}", "NaN"],
        ["{}", "1e999"],
        ["{}", '{"n": 12345678901234567890}'],
        ["{}", '"\ud800"'],
        ["{}", None],
    ],
)
def test_texts_that_are_no_values_each_are_left_to_be_looked_at_one_by_one(texts: list[Any]) -> None:
    assert load_all(texts) is None


@pytest.mark.parametrize("before", range(14))
@pytest.mark.parametrize("beside", ["", "1234567 " * 3, "123456 " * 60])
def test_an_integer_beyond_64_bits_keeps_its_value_wherever_it_stands(before: int, beside: str) -> None:
    """Among long texts of digits too; the shortest of them has 19."""
    for digits in ("-9223372036854775809", "18446744073709551616", "1" * 40):
        text = f'{{"s":"{beside}","p":"{"x" * before}","n":{digits}}}'
        assert load_text(text)["n"] == int(digits)


@pytest.mark.parametrize("text", ["%s", " %s", "[%s]", "[1,%s]", "[1,\n%s]", '{"n":%s}', '{"n": %s}'])
def test_an_integer_beyond_64_bits_keeps_its_value_whatever_stands_before_it(text: str) -> None:
    for digits in ("18446744073709551616", "-18446744073709551616"):
        assert digits in dump_text(load_text(text % digits))


@pytest.mark.parametrize(
    "text", ['{"n":-0.00012345678901234567}', '{"s":"1234567890123456789012","1234567890123456789":1}']
)
def test_digits_that_are_no_integer_are_read_the_quick_way(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = json.loads(text)
    monkeypatch.setattr(json, "loads", None)
    assert load_text(text) == expected


def test_objects_among_texts_are_found_whatever_stands_beside_them() -> None:
    texts = ['{"a":1}', "[1]", "Hi", None, '{"n": 12345678901234567890}']
    assert load_objects(texts) == [{"a": 1}, None, None, None, {"n": 12345678901234567890}]


@pytest.mark.parametrize("odd", ['{"a": 1}', '{"a":1.0e2}', '{"a":1,"a":2}', '{"a":"\\u0041"}', "[1]", "{", ""])
def test_only_texts_that_come_back_to_the_letter_are_exact(odd: str) -> None:
    exact = '{"city":"Oslo","n":[1,2.5,null]}'
    assert load_exact([exact, exact]) == [json.loads(exact)] * 2
    assert load_exact([exact, odd]) == [json.loads(exact), None]
    assert dump_text(load_exact([exact])[0]) == exact


def test_made_ids_are_known_among_others() -> None:
    made = made_id("call", "seed", 1)
    assert made_among(["a", made, "b"]) == {made}
    assert made_among(["a", "b"]) == frozenset()
    assert made_among([None, made, 5]) == {made}


# ---- reports --------------------------------------------------------------------------------------------------------

CONTENTS: list[dict[str, Any]] = [
    {"role": "user", "parts": [{"text": "Weather?"}]},
    {
        "role": "model",
        "parts": [
            {"text": "Looking."},
            {"functionCall": {"id": "a", "name": "look", "args": {"city": "Oslo"}}},
            {"functionCall": {"id": "b", "name": "sense", "args": {}}},
        ],
    },
    {
        "role": "user",
        "parts": [
            {"functionResponse": {"id": "a", "name": "look", "response": {"output": "4 C"}}},
            {"functionResponse": {"id": "b", "name": "sense", "response": {"output": "dry"}}},
        ],
    },
    {"role": "user", "parts": [{"text": "And now?"}]},
]
_NAME = "functionResponse/name"


def told(done: ul.Converted, side: str) -> dict[str, str]:
    return {loss.path: loss.fate for loss in done.losses if loss.side == side}


def test_each_name_of_a_result_that_its_call_says_is_told_at_its_place() -> None:
    done = ul.convert({"contents": CONTENTS}, source=GEMINI, target=CHAT, model="m")
    assert told(done, "source") == {
        f"/contents/2/parts/0/{_NAME}": "approximated",
        f"/contents/2/parts/1/{_NAME}": "approximated",
    }


@pytest.mark.parametrize("repair", ["auto", "never"])
def test_a_name_that_no_call_says_is_lost_beside_those_that_calls_say(repair: Any) -> None:
    other = json.loads(json.dumps(CONTENTS))
    other[2]["parts"][1]["functionResponse"]["name"] = "taste"
    done = ul.convert({"contents": other}, source=GEMINI, target=CHAT, model="m", repair=repair)
    assert told(done, "source") == {
        f"/contents/2/parts/0/{_NAME}": "approximated",
        f"/contents/2/parts/1/{_NAME}": "lost",
    }


def test_a_counted_request_stands_inside_the_counting_one() -> None:
    inner = {"model": "models/m", "contents": CONTENTS}
    done = ul.convert(
        {"generateContentRequest": inner},
        source=GEMINI,
        target=MESSAGES,
        kind="count_tokens_request",
        model="m",
    )
    places = [path for path in told(done, "source") if path.endswith(_NAME)]
    assert places and all(path.startswith("/generateContentRequest/contents/2/") for path in places)


def test_arguments_of_a_call_that_is_left_out_are_told_where_they_stand() -> None:
    # (The conversation may not open with a call.)
    done = ul.convert({"contents": CONTENTS[1:]}, source=GEMINI, target=f"{GEMINI}:vertex", model="m")
    assert told(done, "source")["/contents/0/parts/1"] == "lost"


def test_each_name_that_a_result_is_given_is_told_at_its_place_in_the_result() -> None:
    chat = ul.convert({"contents": CONTENTS}, source=GEMINI, target=CHAT, model="m").value
    done = ul.convert(chat, source=CHAT, target=GEMINI)
    assert told(done, "target") == {
        f"/contents/2/parts/0/{_NAME}": "added",
        f"/contents/2/parts/1/{_NAME}": "added",
    }
    assert done.value["contents"][2] == CONTENTS[2]


def test_each_thought_that_says_who_signed_is_told_at_its_place_in_the_result() -> None:
    chat = ul.convert({"contents": CONTENTS}, source=GEMINI, target=CHAT, model="m").value
    done = ul.convert({**chat, "messages": chat["messages"] * 2}, source=CHAT, target=STEPS, repair="never")
    added = [path for path, fate in told(done, "target").items() if path.endswith("/signature")]
    kinds = [step["type"] for step in done.value["input"]]
    assert added == [f"/input/{place}/signature" for place, kind in enumerate(kinds) if kind == "thought"]
    assert len(added) == 2


PAIRS = (("a", "b"), ("c", "d"))
RESULTS = [
    {"functionResponse": {"id": each, "name": "look", "response": {"output": "4 C"}}} for pair in PAIRS for each in pair
]
APART: dict[str, dict[str, Any]] = {
    GEMINI: {
        "contents": [
            {"role": "user", "parts": [{"text": "Weather?"}]},
            *(
                {
                    "role": "model",
                    "parts": [{"functionCall": {"id": each, "name": "look", "args": {}}} for each in pair],
                }
                for pair in PAIRS
            ),
            {"role": "user", "parts": RESULTS},
        ]
    },
    CHAT: {
        "messages": [
            {"role": "user", "content": "Weather?"},
            *(
                {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [
                        {"id": each, "type": "function", "function": {"name": "look", "arguments": "{}"}}
                        for each in pair
                    ],
                }
                for pair in PAIRS
            ),
            *({"role": "tool", "tool_call_id": each, "content": "4 C"} for pair in PAIRS for each in pair),
        ],
    },
    MESSAGES: {
        "max_tokens": 9,
        "messages": [
            {"role": "user", "content": "Weather?"},
            *(
                {
                    "role": "assistant",
                    "content": [{"type": "tool_use", "id": each, "name": "look", "input": {}} for each in pair],
                }
                for pair in PAIRS
            ),
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": each, "content": "4 C"} for pair in PAIRS for each in pair
                ],
            },
        ],
    },
}


@pytest.mark.parametrize(
    ("source", "target"), [(CHAT, GEMINI), (MESSAGES, GEMINI), (GEMINI, CHAT), (MESSAGES, CHAT), (GEMINI, MESSAGES)]
)
def test_calls_of_messages_that_stand_side_by_side_are_one_turn(source: str, target: str) -> None:
    value = ul.convert(APART[source], source=source, target=target, model="m").value
    if target == GEMINI:
        said = [part["functionCall"]["id"] for part in value["contents"][1]["parts"]]
    elif target == CHAT:
        said = [call["id"] for call in value["messages"][1]["tool_calls"]]
    else:
        said = [block["id"] for block in value["messages"][1]["content"]]
    assert said == ["a", "b", "c", "d"]


TOOLS = [
    {"type": "function", "function": {"name": name, "description": "d", "parameters": {"type": "object"}, **beside}}
    for name, beside in (("look", {"strict": True}), ("sense", {}), ("taste", {"strict": False}))
]


@pytest.mark.parametrize("target", [GEMINI, STEPS])
def test_each_word_that_tools_lose_is_told_at_its_place(target: str) -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "tools": TOOLS}
    done = ul.convert(body, source=CHAT, target=target)
    lost = {path for path, fate in told(done, "source").items() if fate == "lost"}
    # (Of the others one has no value, and one is not strict, which is the default.)
    assert lost == {"/tools/0/function/strict"}
