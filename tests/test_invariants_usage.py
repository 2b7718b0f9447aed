"""Counts of tokens agree everywhere: sums include their parts, nothing is counted twice, and totals stay what they are.

How each wire counts is written here once more from its reference: OpenAI's prompt includes what was cached, Anthropic's
and Amazon's leave it out; Google's output leaves thoughts out, and its input what tools fed back. `counts` turns each
into the same inclusive sums, and the target's counts must give the sums of the source.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

import unified_llm as ul
from corpus import pairs, records, show
from covering import examples
from unified_llm.client.sending.decoding import read_answer, read_usage

CHAT, RESPONSES, MESSAGES = "openai-chat", "openai-responses", "anthropic-messages"
INTERACTIONS, GENERATE, CONVERSE = "google-interactions", "google-generate-content", "amazon-converse"
PROTOCOLS = (CHAT, RESPONSES, MESSAGES, INTERACTIONS, GENERATE, CONVERSE)
Node = dict[str, Any]
KEY = {**dict.fromkeys(PROTOCOLS, "usage"), GENERATE: "usageMetadata"}
# What a surface has no field for: tokens written to a cache, and those of the output that are thoughts.
NO_WRITES = (INTERACTIONS, GENERATE)
NO_THOUGHTS = (CONVERSE,)


def _sum(*values: Any) -> int | None:
    known = [value for value in values if type(value) is int]
    return sum(known) if known else None


def counts(protocol: str, usage: Node) -> dict[str, int | None]:
    """Inclusive sums and their parts of a wire's usage object."""
    get = usage.get
    if protocol in (CHAT, RESPONSES):
        names = ("prompt", "completion") if protocol == CHAT else ("input", "output")
        inner, outer = (get(f"{name}_tokens_details") or {} for name in names)
        cached = inner.get("cached_tokens")
        if cached is None and not inner:
            spelled = ("cached_tokens", "prompt_cache_hit_tokens", "num_cached_tokens")
            cached = next((get(name) for name in spelled if get(name) is not None), None)
        total, thought, output = get("total_tokens"), outer.get("reasoning_tokens"), get(f"{names[1]}_tokens")
        asked = get(f"{names[0]}_tokens")
        if thought and None not in (asked, output) and total == asked + output + thought:
            output += thought  # a server that leaves reasoning out, as its total shows
        write = inner.get("cache_write_tokens")
        return _row(asked, output, total, cached, write, thought)
    if protocol == MESSAGES:
        read, write = get("cache_read_input_tokens"), get("cache_creation_input_tokens")
        thought = (get("output_tokens_details") or {}).get("thinking_tokens")
        asked = _sum(get("input_tokens"), read, write) if type(get("input_tokens")) is int else None
        output = get("output_tokens")
        return _row(asked, output, _sum(asked, output) if None not in (asked, output) else None, read, write, thought)
    if protocol == CONVERSE:
        # Tokens read from a cache and written to one are not in `inputTokens`; their sum is the whole input.
        read, write, output = get("cacheReadInputTokens"), get("cacheWriteInputTokens"), get("outputTokens")
        fresh, total = get("inputTokens"), get("totalTokens")
        asked = _sum(fresh, read, write) if type(fresh) is int else None
        if None not in (asked, output) and total == fresh + output:
            total = asked + output  # a server whose total leaves cached tokens out
        return _row(asked, output, total, read, write, None)
    if protocol == INTERACTIONS:
        thought, tool = get("total_thought_tokens"), get("total_tool_use_tokens")
        asked = _sum(get("total_input_tokens"), tool) if type(get("total_input_tokens")) is int else None
        output = _sum(get("total_output_tokens"), thought) if type(get("total_output_tokens")) is int else None
        return _row(asked, output, get("total_tokens"), get("total_cached_tokens"), None, thought)
    thought, tool = get("thoughtsTokenCount"), get("toolUsePromptTokenCount")
    return _row(
        _sum(get("promptTokenCount"), tool),
        _sum(get("candidatesTokenCount"), thought),
        get("totalTokenCount"),
        get("cachedContentTokenCount"),
        None,
        thought,
    )


def _row(asked: Any, output: Any, total: Any, cached: Any, write: Any, thought: Any) -> dict[str, int | None]:
    said = {"input": asked, "output": output, "total": total, "cached": cached, "write": write, "reasoning": thought}
    return {key: value if type(value) is int else None for key, value in said.items()}


def consistent(row: dict[str, int | None]) -> list[str]:
    """What is wrong with counts that hold together: parts within sums, the total their sum, nothing negative."""
    number = {key: value or 0 for key, value in row.items()}
    wrong = [f"{key} is negative" for key, value in number.items() if value < 0]
    if row["input"] is not None and number["cached"] + number["write"] > number["input"]:
        wrong.append("cached and written exceed the input")
    if row["output"] is not None and number["reasoning"] > number["output"]:
        wrong.append("reasoning exceeds the output")
    known = None not in (row["input"], row["output"], row["total"])
    if known and number["total"] != number["input"] + number["output"]:
        wrong.append(f"{number['input']} and {number['output']} are not {number['total']}")
    return wrong


def differences(target: str, said: dict[str, int | None], found: dict[str, int | None]) -> list[str]:
    """Counts of the source that the target has otherwise."""
    left_out = {"write"} if target in NO_WRITES else {"reasoning"} if target in NO_THOUGHTS else set()
    if said["total"] is None or (said["total"] != _sum(said["input"], said["output"])):
        left_out.add("total")  # computed where it was missing, and where the sums differ
    if consistent(said):
        left_out |= {"cached", "write"}  # overlapping parts are cut to their sum
        left_out |= {"reasoning"} if target in (INTERACTIONS, GENERATE) else set()
    told = [key for key in said if key not in left_out and said[key] is not None]
    return [f"{key}: {said[key]} became {found[key]}" for key in told if (found[key] or 0) != said[key]]


@pytest.mark.parametrize(("source", "target", "kind"), pairs("response"))
def test_counts_of_answers_agree(source: str, target: str, kind: str) -> None:
    failures, examined = [], 0
    for record in records(source, kind):
        usage = record["body"].get(KEY[source])
        if not usage or type(usage) is not dict:
            continue
        said = counts(source, usage)
        done = ul.convert(record["body"], source=source, target=target, kind=kind)
        failed = "output" not in done.value if target == CONVERSE else "error" in done.value and target != RESPONSES
        if failed:
            continue
        examined += 1
        found = counts(target, done.value[KEY[target]])
        wrong = differences(target, said, found)
        # Google's and Anthropic's counts are apart, and cannot overlap.
        if None not in (said["input"], said["output"]) and (target == MESSAGES or not consistent(said)):
            wrong += consistent(found)
        failures += [f"{record['id']}: {each}" for each in wrong]
    assert examined > 5
    assert not failures, show(failures, "counts agree", examined)


def first_answer(datas: list[Node]) -> list[Node]:
    """The events up to the first end: what some recordings have after it is another answer."""
    ends = ("response.completed", "response.incomplete", "response.failed", "message_stop")
    last = next((number for number, data in enumerate(datas) if data.get("type") in ends), len(datas))
    return datas[: last + 1]


def stream_usage(protocol: str, events: list[Node]) -> Node:
    """The usage of a whole stream: the last word on every count, which no later zero takes back at Messages."""
    datas = [event["data"] for event in events if type(event.get("data")) is dict]
    if protocol == MESSAGES:
        usage: Node = {}
        for data in first_answer(datas):
            message = data.get("message")  # that of an error is a text
            said = (message.get("usage") if type(message) is dict else None) or data.get("usage") or {}
            for key, value in said.items():
                # Where its iterations are listed (a compaction before the answer), the counts are those of the answer.
                lowered = value == 0 and usage.get(key) and key != "output_tokens" and "iterations" not in said
                if value is not None and not lowered:
                    usage[key] = value
        return usage
    if protocol in (RESPONSES, INTERACTIONS):
        if protocol == RESPONSES:
            datas = first_answer(datas)
        found = [data.get("response") or data.get("interaction") for data in datas]
        found = [(each or {}).get("usage") for each in found]
        return next((each for each in reversed(found) if each), {})
    if protocol == CHAT:
        spelled = [data.get("usage") or (data.get("x_groq") or {}).get("usage") for data in datas]
        return next((each for each in reversed(spelled) if each), {})
    if protocol == CONVERSE:
        return next((data["usage"] for data in reversed(datas) if data.get("usage")), {})  # `metadata`, the last event
    usage = {}
    for data in datas:
        usage.update(data.get("usageMetadata") or {})
    return usage


@pytest.mark.parametrize(("source", "target", "kind"), pairs("stream"))
def test_counts_of_streams_agree(source: str, target: str, kind: str) -> None:
    failures, examined = [], 0
    for record in records(source, kind):
        said = counts(source, stream_usage(source, record["events"]))
        written = list(ul.convert_stream(record["events"], source=source, target=target))
        broken = any(type(each["data"]) is dict and ("error" in each["data"]) for each in written if each.get("data"))
        failed = any(type(each["data"]) is dict and each["data"].get("type") == "response.failed" for each in written)
        failed |= target == CONVERSE and any(str(each["event"]).endswith("Exception") for each in written)
        if broken or failed or said["input"] is None:
            continue
        examined += 1
        found = counts(target, stream_usage(target, written))
        wrong = differences(target, said, found)
        if not consistent(said):
            wrong += consistent(found)
        failures += [f"{record['id']}: {each}" for each in wrong]
    assert examined > 5
    assert not failures, show(failures, "counts of streams agree", examined)


# ---- counts that are not recorded ------------------------------------------------------------------------------------

# Fresh input, read from a cache, written to one, fed back by tools; visible output and thoughts: none overlaps another.
_COUNT = st.integers(0, 10**9)


def usage_of(protocol: str, fresh: int, read: int, write: int, tool: int, visible: int, thought: int) -> Node:
    """The same tokens as each wire counts them."""
    asked, output = fresh + read + write + tool, visible + thought
    if protocol in (CHAT, RESPONSES):
        names = ("prompt", "completion") if protocol == CHAT else ("input", "output")
        return {
            f"{names[0]}_tokens": asked,
            f"{names[1]}_tokens": output,
            "total_tokens": asked + output,
            f"{names[0]}_tokens_details": {"cached_tokens": read, "cache_write_tokens": write},
            f"{names[1]}_tokens_details": {"reasoning_tokens": thought},
        }
    if protocol == MESSAGES:
        return {
            "input_tokens": fresh + tool,
            "cache_creation_input_tokens": write,
            "cache_read_input_tokens": read,
            "output_tokens": output,
            "output_tokens_details": {"thinking_tokens": thought},
        }
    if protocol == CONVERSE:
        return {
            "inputTokens": fresh + tool,
            "outputTokens": output,
            "totalTokens": asked + output,
            "cacheReadInputTokens": read,
            "cacheWriteInputTokens": write,
        }
    words = {
        INTERACTIONS: "total_input_tokens total_tool_use_tokens total_output_tokens total_thought_tokens "
        "total_cached_tokens total_tokens",
        GENERATE: "promptTokenCount toolUsePromptTokenCount candidatesTokenCount thoughtsTokenCount "
        "cachedContentTokenCount totalTokenCount",
    }[protocol].split()
    return dict(zip(words, (fresh + read + write, tool, visible, thought, read, asked + output)))


def answer_of(protocol: str, usage: Node) -> Node:
    message = {"role": "assistant", "content": "a", "refusal": None}
    text = {"type": "output_text", "text": "a", "annotations": []}
    item = {"id": "m", "type": "message", "role": "assistant", "status": "completed", "content": [text]}
    body: Node = {
        CHAT: {
            "id": "c", "object": "chat.completion", "created": 1, "model": "m",
            "choices": [{"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}],
        },
        RESPONSES: {
            "id": "r", "object": "response", "created_at": 1, "model": "m", "status": "completed", "output": [item],
        },
        MESSAGES: {
            "id": "g", "type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn",
            "content": [{"type": "text", "text": "a"}],
        },
        INTERACTIONS: {
            "id": "i", "object": "interaction", "model": "m", "status": "completed",
            "steps": [{"type": "model_output", "content": [{"type": "text", "text": "a"}]}],
        },
        GENERATE: {
            "candidates": [
                {"content": {"role": "model", "parts": [{"text": "a"}]}, "finishReason": "STOP", "index": 0},
            ],
        },
        CONVERSE: {
            "output": {"message": {"role": "assistant", "content": [{"text": "a"}]}}, "stopReason": "end_turn",
            "metrics": {"latencyMs": 1},
        },
    }[protocol]  # fmt: skip
    return {**body, KEY[protocol]: usage}


PAIRS = [(source, target) for source in PROTOCOLS for target in PROTOCOLS]


@settings(max_examples=examples(25))
@given(st.tuples(*[_COUNT] * 6))
def test_every_count_is_counted_once(parts: tuple[int, ...]) -> None:
    fresh, read, write, tool, visible, thought = parts
    for source, target in PAIRS:
        note(f"{source} to {target}")
        body = answer_of(source, usage_of(source, *parts))
        done = ul.convert(body, source=source, target=target, kind="response")
        found = counts(target, done.value[KEY[target]])
        assert (found["input"], found["output"]) == (fresh + read + write + tool, visible + thought)
        assert found["total"] == sum(parts)
        assert found["cached"] == read
        if source not in NO_THOUGHTS and target not in NO_THOUGHTS:
            assert found["reasoning"] == thought
        if source not in NO_WRITES and target not in NO_WRITES:
            assert found["write"] == write
        assert not consistent(found)


@settings(max_examples=examples(25))
@given(st.tuples(*[_COUNT] * 6))
def test_counts_return(parts: tuple[int, ...]) -> None:
    for source, through in PAIRS:
        note(f"{source} through {through}")
        fresh, read, write, tool, visible, thought = parts
        # What the surface between cannot distinguish is no longer distinct; the sums are the same.
        if through in NO_WRITES or source in NO_WRITES:
            fresh, write = fresh + write, 0
        if through in NO_THOUGHTS or source in NO_THOUGHTS:
            visible, thought = visible + thought, 0
        given_ = answer_of(source, usage_of(source, fresh, read, write, tool, visible, thought))
        there = ul.convert(given_, source=source, target=through, kind="response")
        back = ul.convert(there.value, source=through, target=source, kind="response")
        said, found = counts(source, given_[KEY[source]]), counts(source, back.value[KEY[source]])
        assert {key: value or 0 for key, value in found.items()} == {key: value or 0 for key, value in said.items()}


# ---- by hand: one answer in all six conventions ---------------------------------------------------------------------


def test_trap_149_one_answer_as_each_surface_counts_it() -> None:
    usage = {
        "input_tokens": 7, "cache_read_input_tokens": 9000, "cache_creation_input_tokens": 1000, "output_tokens": 5,
    }  # fmt: skip
    told = {
        target: ul.convert(answer_of(MESSAGES, usage), source=MESSAGES, target=target, kind="response").value
        for target in PROTOCOLS
    }
    assert told[MESSAGES]["usage"] == usage
    chat, responses = told[CHAT]["usage"], told[RESPONSES]["usage"]
    assert (chat["prompt_tokens"], chat["completion_tokens"], chat["total_tokens"]) == (10007, 5, 10012)
    assert chat["prompt_tokens_details"] == {"cached_tokens": 9000, "cache_write_tokens": 1000}
    assert (responses["input_tokens"], responses["total_tokens"]) == (10007, 10012)
    assert responses["input_tokens_details"] == {"cached_tokens": 9000, "cache_write_tokens": 1000}
    google, interaction = told[GENERATE]["usageMetadata"], told[INTERACTIONS]["usage"]
    assert google == {
        "promptTokenCount": 10007, "candidatesTokenCount": 5, "totalTokenCount": 10012, "cachedContentTokenCount": 9000,
    }  # fmt: skip
    assert (interaction["total_input_tokens"], interaction["total_cached_tokens"]) == (10007, 9000)
    assert told[CONVERSE]["usage"] == {
        "inputTokens": 7, "outputTokens": 5, "totalTokens": 10012,
        "cacheReadInputTokens": 9000, "cacheWriteInputTokens": 1000,
    }  # fmt: skip


def test_trap_150_thoughts_are_output() -> None:
    usage = {"promptTokenCount": 20, "candidatesTokenCount": 151, "thoughtsTokenCount": 382, "totalTokenCount": 553}
    for target in (CHAT, RESPONSES, MESSAGES, INTERACTIONS):
        done = ul.convert(answer_of(GENERATE, usage), source=GENERATE, target=target, kind="response")
        found = counts(target, done.value["usage"])
        assert (found["input"], found["output"], found["total"], found["reasoning"]) == (20, 533, 553, 382)
    interaction = ul.convert(answer_of(GENERATE, usage), source=GENERATE, target=INTERACTIONS, kind="response").value
    assert interaction["usage"]["total_output_tokens"] == 151
    assert interaction["usage"]["total_thought_tokens"] == 382
    converse = ul.convert(answer_of(GENERATE, usage), source=GENERATE, target=CONVERSE, kind="response")
    assert converse.value["usage"] == {"inputTokens": 20, "outputTokens": 533, "totalTokens": 553}
    lost = {(loss.path, loss.fate) for loss in converse.losses}
    assert ("/usageMetadata/thoughtsTokenCount", "approximated") in lost


def test_overlapping_parts_are_cut_where_counts_are_apart() -> None:
    """A server may count what was read from a cache as written to it too: the sum of the input is the same."""
    body = answer_of(RESPONSES, usage_of(RESPONSES, 7, 2161, 0, 0, 100, 0))
    body["usage"]["input_tokens_details"]["cache_write_tokens"] = 2161
    done = ul.convert(body, source=RESPONSES, target=CONVERSE, kind="response")
    assert done.value["usage"] == {
        "inputTokens": 0, "outputTokens": 100, "totalTokens": 2268,
        "cacheReadInputTokens": 2161, "cacheWriteInputTokens": 7,
    }  # fmt: skip
    assert {(loss.path, loss.detail) for loss in done.losses if loss.path.startswith("/usage/input_tokens")} == {
        ("/usage/input_tokens_details/cache_write_tokens", "sent as 7: the parts exceed their sum"),
    }  # fmt: skip


def test_what_a_surface_cannot_say_of_a_cache_is_told() -> None:
    body = answer_of(MESSAGES, usage_of(MESSAGES, 7, 9000, 1000, 0, 5, 0))
    for target in NO_WRITES:
        losses = ul.convert(body, source=MESSAGES, target=target, kind="response").losses
        # The tokens are in the sum; that they were written to a cache is lost.
        assert ("/usage/cache_creation_input_tokens", "approximated") in {(loss.path, loss.fate) for loss in losses}


def _bare(usage: Node | None) -> Node | None:
    return usage and {key: value for key, value in usage.items() if key != "extra"}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_usage_alone_is_that_of_the_whole_response(protocol: str) -> None:
    """`Adapter.usage` counts what reading the whole response counts, and leaves the document as it is."""
    wrong, told = [], 0
    for record in records(protocol, "response"):
        body = record["body"]
        before = json.dumps(body)
        try:
            whole = read_answer(body, protocol).get("usage")
        except ul.InvalidBody:
            continue
        alone = read_usage(body, protocol)
        assert alone is not None and json.dumps(body) == before
        told += bool(whole)
        if _bare(alone["usage"]) != _bare(whole):
            wrong.append((record["id"], alone["usage"], whole))
    assert not wrong, wrong[:3]
    assert told > 5
