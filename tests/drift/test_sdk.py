"""SDK drift: what is installed is what is pinned; each kind of change is reported, with the file to change."""

from __future__ import annotations

import functools
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import unified_llm as ul
from unified_llm.cli import app
from unified_llm.drift import sdk
from unified_llm.drift.surface import of_schema, of_types
from unified_llm.engine.sdk_declarations import Declared, pinned

PROTOCOLS = ul.protocols()


@functools.cache
def installed() -> dict[str, Declared]:
    return {found.protocol: found for found in sdk.everything()}


@pytest.mark.parametrize("protocol", [*PROTOCOLS, "openai-responses.open-responses"])
def test_what_the_sdks_declare_is_what_the_adapters_have_classified(protocol: str) -> None:
    known = pinned(protocol)
    assert known is not None
    told = [str(each) for each in sdk.differences(known, installed()[protocol])]
    assert not told, "classify it (docs/adapters.md), then run: unified-llm drift sdk --update"


def test_every_protocol_and_the_open_specification_are_pinned() -> None:
    names = list(installed())
    assert names == [*PROTOCOLS, "openai-responses.open-responses"]
    for name in names:
        known = pinned(name)
        assert known is not None
        assert known.sdk.split()[1][0].isdigit()
        assert len(known.nodes) > 50


def surface(protocol: str, node: str, keys: dict[str, list[str]] | None) -> Declared:
    """The pinned surface with one node changed (or taken away)."""
    known = pinned(protocol)
    assert known is not None
    nodes = {name: dict(found) for name, found in known.nodes.items()}
    if keys is None:
        del nodes[node]
    else:
        nodes[node] = {**nodes.get(node, {}), **keys}
    return known._replace(nodes=nodes)


def told(protocol: str, node: str, keys: dict[str, list[str]] | None) -> list[tuple[str, str, str]]:
    known = pinned(protocol)
    assert known is not None
    found = sdk.differences(known, surface(protocol, node, keys))
    return [(each.what, each.place, each.file) for each in found]


def test_a_new_key_is_for_the_file_that_knows_its_neighbors() -> None:
    found = told("anthropic-messages", "thinking", {"mood": ["string"]})
    assert found == [("new", "thinking.mood", "unified_llm_anthropic/messages/turns/reasoning.py")]


def test_a_new_word_a_gone_node_and_another_type() -> None:
    known = pinned("openai-chat")
    assert known is not None
    reasons = known.nodes["choices"]["finish_reason"]
    ((what, place, _),) = told("openai-chat", "choices", {"finish_reason": [*reasons, '"boredom"']})
    assert (what, place) == ("new", 'choices.finish_reason="boredom"')
    ((what, place, _),) = told("openai-chat", "usage", None)
    assert (what, place) == ("gone", "usage")
    (change,) = sdk.differences(known, surface("openai-chat", "usage", {"total_tokens": ["number"]}))
    assert (change.what, change.place, change.detail) == ("changed", "usage.total_tokens", "+number, -integer")


def test_a_new_item_is_told_once_and_not_for_every_place_that_may_hold_it() -> None:
    known = pinned("openai-responses")
    assert known is not None
    after = surface("openai-responses", "hologram", {"type": ['"hologram"'], "depth": ["number"]})
    after.nodes["response"]["output"] = [*after.nodes["response"]["output"], "hologram[]"]
    (found,) = sdk.differences(known, after)
    assert str(found).startswith("new: hologram (type, depth), for unified_llm_openai/responses/")


# ---- another environment's SDK --------------------------------------------------------------------------------------

FAKE = """
from typing import Any, Literal
from pydantic import BaseModel
class Part(BaseModel):
    type: Literal["text", "smell"]
    text: str
class Choice(BaseModel):
    index: float
    parts: list[Part]
class ChatCompletion(BaseModel):
    id: str
    object: Literal["chat.completion"]
    choices: list[Choice]
    flavour: str | None = None
"""


def fake(folder: Path) -> Path:
    package = folder / "openai"
    (package / "types").mkdir(parents=True)
    (package / "__init__.py").write_text('__version__ = "99.0"\n')
    (package / "types" / "__init__.py").write_text("")
    (package / "types" / "chat.py").write_text(FAKE)
    return folder


def test_an_sdk_in_a_folder_is_read_in_a_process_of_its_own(tmp_path: Path) -> None:
    found = sdk.declared("openai-chat", fake(tmp_path))
    assert found.sdk == "openai 99.0"
    assert found.nodes["chat.completion"]["flavour"] == ["string"]
    assert found.nodes["choices"] == {"index": ["number"], "parts": ["choices.parts[]"]}
    assert found.nodes["choices.parts"]["type"] == ['"smell"', '"text"']
    assert sys.modules["openai"].__version__ != "99.0" if "openai" in sys.modules else True


def run(*arguments: Any) -> tuple[int, str, str]:
    done = CliRunner().invoke(app, ["drift", "sdk", *map(str, arguments)])
    return done.exit_code, done.stdout, done.stderr


def test_the_command_says_what_is_new_gone_and_changed(tmp_path: Path) -> None:
    code, out, _ = run("openai-chat", "--path", fake(tmp_path))
    assert code == 1
    assert "new: chat.completion.flavour (string), for unified_llm_openai/chat/" in out
    assert "gone: chat.completion.usage (usage)" in out
    assert "changed: choices.index (+number, -integer)" in out
    code, out, _ = run("openai-chat", "--path", tmp_path, "--json")
    assert code == 1
    assert {"protocol": "openai-chat", "what": "new", "place": "chat.completion.flavour"}.items() <= next(
        each for each in json.loads(out) if each["place"].endswith("flavour")
    ).items()
    code, out, _ = run("openai-chat", "--path", tmp_path, "--since", tmp_path)
    assert (code, out) == (0, "openai-chat: openai 99.0, no differences\n")


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("carrier-pigeon",), "carrier-pigeon"),
        (("openai-chat", "--path", "no/where"), "not a folder"),
        (("--path", "no/where"), "no SDK"),
    ],
)
def test_bad_usage(arguments: tuple[str, ...], reason: str) -> None:
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert reason in err


# ---- surfaces -------------------------------------------------------------------------------------------------------


def test_a_root_that_is_gone_is_left_out_and_a_missing_sdk_is_an_error() -> None:
    assert of_types({"response": "openai.types.chat:NoSuchThing"}) == {}
    with pytest.raises(ImportError):
        of_types({"response": "no_such_sdk.types:Thing"})


def test_a_schema_has_the_same_shape() -> None:
    document = {
        "components": {
            "schemas": {
                "Base": {"properties": {"id": {"type": "string"}}},
                "Text": {
                    "allOf": [{"$ref": "#/components/schemas/Base"}],
                    "properties": {
                        "type": {"enum": ["text"]},
                        "size": {"enum": ["big", "small"]},
                        "parts": {"type": "array", "items": {"$ref": "#/components/schemas/Text"}},
                        "score": {"anyOf": [{"type": "number"}, {"type": "null"}]},
                    },
                },
            }
        }
    }
    assert of_schema(document)["text"] == {
        "id": ["string"],
        "parts": ["text[]"],
        "score": ["number"],
        "size": ['"big"', '"small"'],
        "type": ['"text"'],
    }
