"""Recorded traffic of each vendor goes through its own dialect, and keeps the laws there; so does every fixture.

What a vendor answered, its dialect must not refuse: the lists of what servers take are checked against what was sent.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any
from zlib import crc32

import pytest

import unified_llm as ul
from corpus import fixtures, recorded, show
from covering import in_turn
from sdk_streams import judged_chat
from unified_llm import suite
from unified_llm.engine.registry import adapter

pytestmark = pytest.mark.long

OPENAI = ("openai-chat", "openai-responses")
DIALECTS = [(protocol, vendor) for protocol in OPENAI for vendor in adapter(protocol).dialects]
# The corpus' names for vendors that we call otherwise, or that run a known server.
NAMES = {
    "alibaba": "qwen",
    "crusoe": "vllm",
    "github-copilot": "copilot",
    "moonshotai": "moonshot",
    "nemo-gym": "vllm",
    "fixture": None,
    "bedrock-mantle": None,
    "heroku": None,
}


def by_vendor(protocol: str, kind: str) -> dict[str, list[dict[str, Any]]]:
    """The recorded traffic of each vendor that has a dialect, as its dialect's."""
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for record in recorded(protocol, kind):
        vendor = NAMES.get(record["vendor"], record["vendor"])
        if vendor is not None:
            assert vendor in adapter(protocol).dialects, f"no dialect for {record['vendor']}"
            found[vendor].append({**record, "protocol": f"{protocol}:{vendor}"})
    return found


def examined(protocol: str, *kinds: str) -> list[dict[str, Any]]:
    return [record for kind in kinds for found in by_vendor(protocol, kind).values() for record in found]


@pytest.mark.parametrize("kind", ["request", "response", "error", "stream"])
@pytest.mark.parametrize("protocol", OPENAI)
def test_identity_of_recorded_traffic(protocol: str, kind: str) -> None:
    failures, count = [], 0
    for vendor, found in by_vendor(protocol, kind).items():
        failures += suite.identity(f"{protocol}:{vendor}", found)
        count += len(found)
    assert not failures, show(failures, "identity", count)


@pytest.mark.parametrize(("protocol", "vendor"), DIALECTS)
def test_identity_of_every_fixture(protocol: str, vendor: str) -> None:
    if protocol == "openai-responses" and vendor == "open-responses":
        return  # prints what its schema demands, whatever it was given
    name = f"{protocol}:{vendor}"
    found = [{**record, "protocol": name} for record in in_turn(fixtures(protocol), name)]
    failures = suite.identity(name, found)
    assert len(found) > 20
    assert not failures, show(failures, "identity", len(found))


@pytest.mark.parametrize("target", ["anthropic-messages", "openai-responses", "google-generate-content"])
def test_sensitivity_of_recorded_chat(target: str) -> None:
    seen: set[tuple[str, ...]] = set()
    found = examined("openai-chat", "request", "response", "error")
    failures = suite.sensitivity([r for r in found if r["protocol"] != "openai-chat:openai"], target, seen)
    # An empty text carries no information, so removing it is not a loss; and STOP is Google's own word, which it gets
    # anyway.
    failures = [each for each in failures if not each.detail.startswith(('"" deleted', '"STOP" deleted'))]
    assert not failures, show(failures, "sensitivity", len(seen))


@pytest.mark.parametrize("target", ["anthropic-messages", "openai-chat"])
def test_sensitivity_of_recorded_responses(target: str) -> None:
    seen: set[tuple[str, ...]] = set()
    found = examined("openai-responses", "request", "response")
    failures = suite.sensitivity([r for r in found if r["protocol"] != "openai-responses:openai"], target, seen)
    assert not failures, show(failures, "sensitivity", len(seen))


@pytest.mark.parametrize("protocol", OPENAI)
def test_streams_amount_to_their_answers(protocol: str) -> None:
    failures, count = [], 0
    for vendor, found in by_vendor(protocol, "stream").items():
        failures += suite.collecting(f"{protocol}:{vendor}", found, whole, ("/metadata",))
        count += len(found)
    assert not failures, show(failures, "collecting", count)


def whole(record: dict[str, Any]) -> Any:
    """The answer in one piece, by another judge: the official SDK's accumulator, or the terminal event."""
    payloads = [event["data"] for event in record["events"] if isinstance(event["data"], dict)]
    if record["protocol"].startswith("openai-responses"):
        ends = [data["response"] for data in payloads if data.get("type") == "response.completed"]
        return ends[0] if ends and "output" in ends[0] else None
    finished = any(choice.get("finish_reason") for data in payloads for choice in data.get("choices") or ())
    if not finished or any("error" in data for data in payloads):
        return None
    return judged_chat(record["events"])


@pytest.mark.parametrize("protocol", OPENAI)
def test_chunking_and_truncation_of_recorded_streams(protocol: str) -> None:
    failures, count = [], 0
    for found in by_vendor(protocol, "stream").values():
        found = found[:4]
        failures += suite.chunking(found, "anthropic-messages")
        failures += suite.truncation(found, ["anthropic-messages"])
        count += len(found)
    assert not failures, show(failures, "chunking and truncation", count)


@pytest.mark.parametrize("protocol", OPENAI)
def test_what_a_vendor_answered_it_is_sent(protocol: str) -> None:
    """Every parameter of a request that was answered goes to the same vendor, from any client."""
    unanswered = {record["pair"] for record in recorded(protocol, "error")}
    failures, count = [], 0
    for vendor, found in by_vendor(protocol, "request").items():
        for record in found:
            if record["id"] in unanswered or record["provenance"] == "sdk_snapshot":
                continue
            count += 1
            done = ul.convert(record["body"], source=protocol, target=f"{protocol}:{vendor}", repair="never")
            for loss in done.losses:
                key = loss.path.split("/")[1]
                refused = loss.fate == "lost" and "ignores" not in loss.detail
                if refused and key not in ("messages", "input") and record["body"].get(key):
                    failures.append(f"{vendor} {record['id']} {loss}")
    assert not failures, show(failures, "what was answered is sent", count)


# ---- writing --------------------------------------------------------------------------------------------------------

# One request of each shape that crosses protocols; every dialect is sent all of them.
SHAPES = ("everything", "sampling", "tool_round", "images", "files", "reasoning", "tool_choice", "response_format")


def crossing(target: str) -> list[dict[str, Any]]:
    return [
        record
        for record in fixtures(kind="request")
        if record["protocol"] != target and any(shape in record["id"] for shape in SHAPES)
    ]


@pytest.mark.parametrize(("protocol", "vendor"), DIALECTS)
def test_nothing_sent_to_a_dialect_is_lost_in_silence(protocol: str, vendor: str) -> None:
    seen: set[tuple[str, ...]] = set()
    found = crossing(protocol)
    # The dialects take turns, by their names (a new one moves no other), so that together they are sent all of it.
    turn = crc32(f"{vendor} of {protocol}".encode()) % 5
    failures = suite.sensitivity(found[turn::5], f"{protocol}:{vendor}", seen)
    assert len(found) > 30 and len(seen) > 50
    assert not failures, show(failures, "sensitivity", len(seen))


JUDGED: Any = {"output.choices": "ignore"}
"""Who asks for several answers of a server that gives one is refused, unless that is known."""


@pytest.mark.parametrize(("protocol", "vendor"), DIALECTS)
def test_a_dialect_is_never_sent_what_it_refuses(protocol: str, vendor: str) -> None:
    dialect = adapter(protocol).dialects[vendor]
    never = {*dialect.get("refuses", ()), *dialect.get("ignores", ()), *dialect.get("renames", ())}
    # What is not even of the right type is not looked into.
    found = [*crossing(""), *(record for record in fixtures(protocol, "request") if "wrong_types" not in record["id"])]
    found = in_turn(found, protocol, vendor)
    sent = 0
    for record in found:
        name = f"{protocol}:{vendor}"
        try:
            value = ul.convert(record["body"], source=record["protocol"], target=name, on_loss=JUDGED).value
        except ul.CapabilityRefused:
            continue  # a prompt of which nothing would be left: nothing is sent
        sent += 1
        assert not never & value.keys(), record["id"]
        assert_taken(value, dialect, record["id"])
    assert sent > 0.9 * len(found)


def assert_taken(value: Any, dialect: Any, where: str) -> None:
    choice, tools = value.get("tool_choice"), value.get("tools") or ()
    kind = choice.get("type") if isinstance(choice, dict) else choice
    words = dialect.get("words", {}).get("tool_choice", {})
    if "tool_choices" in dialect and isinstance(kind, str):
        assert kind in (*dialect["tool_choices"], *words.values()), where
    if "tool_kinds" in dialect:
        kinds = (*dialect["tool_kinds"], dialect.get("search_tool", {}).get("type"))
        assert all(tool.get("type", "function") in kinds for tool in tools), where
    format_ = value.get("response_format") or (value.get("text") or {}).get("format")
    if "formats" in dialect and isinstance(format_, dict):
        assert format_["type"] in dialect["formats"], where
    effort = value.get("reasoning_effort") or (value.get("reasoning") or {}).get("effort")
    if "efforts" in dialect and isinstance(effort, str):
        assert effort in dialect["efforts"], where
    for key, limit in dialect.get("most", {}).items():
        said = value.get(key)
        assert not isinstance(said, (int, float)) or said <= limit, where
