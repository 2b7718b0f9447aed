"""The laws of streams: chunking, what a stream amounts to, the way from a response and back, and cut-off streams.

(That a stream is its own identity, frame for frame, is in test_law_identity.)
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

import unified_llm as ul
from corpus import by_id, cases, fixtures, pairs, recorded, records, show
from covering import in_turn
from sdk_streams import forgets_order, judged_chat
from unified_llm import suite
from unified_llm.engine.registry import adapter
from unified_llm.suite.outcome import without_form

pytestmark = pytest.mark.long

TERMINAL = ("response.completed", "response.incomplete", "response.failed")
STREAM_ONLY: dict[str, tuple[str, ...]] = {
    # Declared for completions, and not for chunks, which the SDK's types are strict on; and a chunk has a name of its
    # own for what it is.
    "openai-chat": ("/metadata", "/extra/openai-chat/rest/object"),
}
"""By protocol, what a stream says otherwise than the one-piece answer, and why."""

SKIP = {"openai-chat": forgets_order}


def texts_apart(response: dict[str, Any]) -> dict[str, Any]:
    """Each text that follows another one in a message of its own.

    Deltas of Interactions have the step of a text, and a text in the same step goes on with the one before; so
    the second of two consecutive texts is sent as a step of its own (what the texts are, and their order, is the same).
    """
    out: list[Any] = []
    for item in response.get("output") or ():
        content = item.get("content") if item["type"] == "message" else None
        if not isinstance(content, list):
            out.append(item)
            continue
        runs: list[list[Any]] = [[]]
        for part in content:
            if runs[-1] and part["type"] == runs[-1][-1]["type"] == "output_text":
                runs.append([])
            runs[-1].append(part)
        out += [{**(item if index == 0 else _bare(item)), "content": run} for index, run in enumerate(runs)]
    return {**response, "output": out}


def _bare(item: dict[str, Any]) -> dict[str, Any]:
    return {key: item[key] for key in ("type", "role") if key in item}


def summaries_joined(response: dict[str, Any]) -> dict[str, Any]:
    """The texts of a reasoning summary as one: deltas of Interactions do not mark where one of them ends."""
    return {**response, "output": [_summary_joined(item) for item in response.get("output") or ()]}


def _summary_joined(item: dict[str, Any]) -> dict[str, Any]:
    texts = item.get("summary") or []
    if len(texts) < 2 or any(text.keys() != {"type", "text"} or text["type"] != "summary_text" for text in texts):
        return item
    return {**item, "summary": [{"type": "summary_text", "text": "".join(text["text"] for text in texts)}]}


def texts_joined(response: dict[str, Any]) -> dict[str, Any]:
    """The texts of a message as one, without the places of its citations.

    An answer is cut into blocks where it cites; a stream has sent its text when the citation arrives, and reports
    the place.
    """
    return {**response, "output": [_joined(item) for item in response.get("output") or ()]}


def _joined(item: dict[str, Any]) -> dict[str, Any]:
    content = item.get("content") if item["type"] == "message" else None
    if not isinstance(content, list):
        return item
    out: list[Any] = []
    for part in without_form(content):
        plain = part["type"] == "output_text" and not part.keys() - {"type", "text", "annotations"}
        if not plain:
            out.append(part)
            continue
        notes = [
            # An envelope holds the place too, where its block does not have it.
            {key: value for key, value in note.items() if key not in ("start_index", "end_index", "opaque")}
            for note in part.get("annotations") or ()
        ]
        if out and out[-1].get("joined"):
            out[-1]["text"] += part["text"]
            out[-1]["annotations"] += notes
        else:
            out.append({"type": "output_text", "text": part["text"], "annotations": notes, "joined": True})
    for part in out:
        if part.pop("joined", None):
            part["annotations"].sort(key=lambda note: json.dumps(note, sort_keys=True))
    return {**item, "content": out}


def arguments_as_values(response: dict[str, Any]) -> dict[str, Any]:
    """Arguments as the JSON values they are.

    Messages and Interactions hold them as an object in an answer and as the model's own text in a stream, where blanks
    stay.
    """
    return {**response, "output": [_as_values(item) for item in response.get("output") or ()]}


def _as_values(item: dict[str, Any]) -> dict[str, Any]:
    try:
        return {**item, "arguments": json.loads(item["arguments"] or "{}")}
    except (KeyError, TypeError, ValueError):
        return item


def cut_off_as_values(response: dict[str, Any]) -> dict[str, Any]:
    """Arguments that a limit cut off as the object that an answer has to make of them.

    A stream sends the text as far as it came, and marks the call as incomplete.
    """
    return {**response, "output": [_made_whole(item) for item in response.get("output") or ()]}


def _made_whole(item: dict[str, Any]) -> dict[str, Any]:
    arguments = item.get("arguments")
    try:
        json.loads(arguments if type(arguments) is str and arguments else "{}")
    except ValueError:
        whole = json.dumps({"_raw": item["arguments"]}, separators=(",", ":"), ensure_ascii=False)
        return {**{key: value for key, value in item.items() if key != "status"}, "arguments": whole}
    return item


def streamable(response: dict[str, Any]) -> dict[str, Any]:
    """Without media that a stream of Converse has no block for, and without the messages that held nothing else."""
    output = [_streamable(item) for item in response.get("output") or ()]
    return {
        **response,
        "output": [item for item in output if item.get("content", ...) != [] or item["type"] != "message"],
    }


def _streamable(item: dict[str, Any]) -> dict[str, Any]:
    content = item.get("content")
    if item["type"] != "message" or not isinstance(content, list):
        return item
    return {**item, "content": [part for part in content if part["type"] not in _UNSTREAMED]}


_UNSTREAMED = ("output_audio", "output_video", "output_file", "input_file")


def made_ids_apart(response: dict[str, Any]) -> dict[str, Any]:
    """Items without the ids that had to be made: they count what is written, envelopes too, and a stream has fewer.

    There is no terminal event for an answer that was cancelled: it has failed, with the reason.
    """
    failed = response.get("status") in ("cancelled", "failed")
    return {
        **response,
        **({"status": "failed", "error": response.get("error") or _FAILED} if failed else {}),
        "output": [
            {key: value for key, value in item.items() if key != "id" or "_ulm_" not in str(value)}
            for item in response.get("output") or ()
            # A message whose images are items of their own was opened before that was known.
            if item.get("content", ...) != [] or item["type"] != "message"
        ],
    }


def counts_complete(response: dict[str, Any]) -> dict[str, Any]:
    """Missing counts are written as 0 where clients need them: of searches and fetches together, and of the cache."""
    usage = response.get("usage")
    if type(usage) is not dict:
        return response
    details = usage.get("input_tokens_details") or {}
    cached = {**details, **{key: details.get(key) or 0 for key in ("cached_tokens", "cache_write_tokens")}}
    hosted = usage.get("hosted_tools")
    if type(hosted) is dict:
        usage = {**usage, "hosted_tools": {"web_search": 0, "web_fetch": 0, **hosted}}
    return {**response, "usage": {**usage, "input_tokens_details": cached}}


_FAILED = {"code": "server_error", "message": "the response failed", "type": "server_error"}

ALIKE: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "google-interactions": lambda response: summaries_joined(
        arguments_as_values(cut_off_as_values(texts_apart(response)))
    ),
    "openai-responses": made_ids_apart,
    "anthropic-messages": lambda response: counts_complete(
        texts_joined(arguments_as_values(cut_off_as_values(response)))
    ),
    "amazon-converse": lambda response: texts_joined(arguments_as_values(cut_off_as_values(streamable(response)))),
}

ANSWERS_HOLD_NO_RESULTS = ("openai-chat", "anthropic-messages", "amazon-converse")
"""Surfaces that leave a call out of an answer which holds its result. A stream of theirs cannot: it has told the call,
piece by piece, before the result comes. (What it tells then is seen to by the tests of traps 58 and 88.)"""


def has_answered_calls(record: dict[str, Any]) -> bool:
    answer = ul.read(record["body"], record["protocol"], "response").dump()
    results = {item.get("call_id") for item in answer.get("output") or () if item["type"].endswith("_call_output")}
    return any(item["type"] == "function_call" and item["call_id"] in results for item in answer.get("output") or ())


STREAMS = [protocol for protocol, _ in cases("stream")]


def final(record: dict[str, Any]) -> Any:
    """The whole response a provider's stream stands for, by another judge; None where it stands for none."""
    payloads = [event["data"] for event in record["events"] if isinstance(event["data"], dict)]
    if record["protocol"] == "openai-responses":
        ends = [data["response"] for data in payloads if data.get("type") in TERMINAL and "output" in data["response"]]
        return ends[0] if ends else None
    if record["protocol"] == "openai-chat":
        finished = any(choice.get("finish_reason") for data in payloads for choice in data.get("choices") or ())
        if not finished or any("error" in data for data in payloads):
            return None
        return judged_chat(record["events"])
    return None


@pytest.mark.parametrize("protocol", STREAMS)
def test_a_stream_amounts_to_its_response(protocol: str) -> None:
    found = list(records(protocol, "stream"))
    failures = suite.collecting(protocol, found, final, STREAM_ONLY.get(protocol, ()))
    assert found
    assert not failures, show(failures, "collecting", len(found))


@pytest.mark.parametrize("protocol", STREAMS)
def test_a_stream_amounts_to_its_twin(protocol: str) -> None:
    whole = by_id(protocol, "response")
    found = [record for record in records(protocol, "stream") if "twin" in record]
    failures = suite.collecting(
        protocol, found, lambda record: whole[record["twin"]]["body"], STREAM_ONLY.get(protocol, ())
    )
    assert found
    assert not failures, show(failures, "collecting twins", len(found))


@pytest.mark.parametrize(("source", "target", "_kind"), [(p, p, "") for p in STREAMS] + pairs("stream"))
def test_decompose_write_read_collect(source: str, target: str, _kind: str) -> None:
    # A stream of chunks has no form for an answer without choices.
    found = [
        record for record in in_turn(records(source, "response"), source, target) if record["body"].get("choices") != []
    ]
    if target in ANSWERS_HOLD_NO_RESULTS:
        found = [record for record in found if not has_answered_calls(record)]
    failures = suite.decomposing(
        target, found, STREAM_ONLY.get(target, ()), source=source, skip=SKIP.get(target), alike=ALIKE.get(target)
    )
    assert found
    assert not failures, show(failures, "decomposing", len(found))


@pytest.mark.parametrize(("source", "target", "_kind"), pairs("stream"))
def test_chunking(source: str, target: str, _kind: str) -> None:
    # How bytes are cut concerns the source alone, so its targets share its streams: each is looked at once.
    others = [each for each in STREAMS if each != source]
    made, real = (list(each(source, "stream"))[others.index(target) :: len(others)] for each in (fixtures, recorded))
    # Recorded streams are long, and each is cut up as others were: they take turns over the ways as well.
    failures = suite.chunking(made, target) + suite.chunking(real, target, share=3)
    assert made
    assert not failures, show(failures, "chunking", len(made) + len(real))


@pytest.mark.parametrize(("source", "target", "_kind"), [(p, p, "") for p in STREAMS] + pairs("stream"))
def test_the_short_way_is_the_long_way(source: str, target: str, _kind: str) -> None:
    found = in_turn(records(source, "stream"), source, target)
    failures = suite.repeating(found, target)
    assert found
    assert not failures, show(failures, "repeating", len(found))


@pytest.mark.parametrize("protocol", STREAMS)
def test_the_short_way_is_the_long_way_in_every_dialect(protocol: str) -> None:
    found = list(records(protocol, "stream"))[::4]
    assert found
    for dialect in adapter(protocol).dialects:
        failures = suite.repeating(found, f"{protocol}:{dialect}")
        assert not failures, show(failures, f"repeating in {dialect}", len(found))


@pytest.mark.parametrize("source", STREAMS)
def test_a_cut_off_stream_is_an_error(source: str) -> None:
    # Of several choices a missing one cannot be noticed before it began.
    found = [record for record in records(source, "stream") if "two_choices" not in record["id"]]
    failures = suite.truncation(found, STREAMS)
    assert found
    assert not failures, show(failures, "truncation", len(found))


@pytest.mark.parametrize("protocol", STREAMS)
def test_recorded_cut_off_streams_do_not_collect(protocol: str) -> None:
    # One that only lacks its finish reason, and has its done marker, is a dialect and no accident.
    cut_off = [
        record
        for record in records(protocol, "stream")
        if "/truncated" in record["id"]
        or {"truncated_stream", "done_marker"} & set(record.get("features", ())) == {"truncated_stream"}
    ]
    assert len(cut_off) >= 3
    for record in cut_off:
        with pytest.raises(ul.RemoteProtocolError):
            ul.collect(ul.read_stream(record["events"], protocol))


@pytest.mark.parametrize("target", sorted({target for _, target, _ in pairs("response")}))
def test_a_streamed_response_has_the_content_of_the_whole_one(target: str) -> None:
    """Responses of every other protocol, the recorded ones included."""
    found = [record for record in in_turn(records(kind="response"), target) if record["protocol"] != target]
    failures = suite.streamed_content(found, target)
    assert not failures, show(failures, "streamed content", len(found))
