"""What the AI SDK makes of recorded answers and streams that were converted to the protocol it reads.

Its schemas refuse what its authors never saw a provider send. What it understands is compared with the content of the
answer in its own protocol, as this library reads it there.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import unified_llm as ul
from corpus import fixtures, recorded
from node_clients.runtime import NODE
from unified_llm import suite
from unified_llm.foundation.errors import UnifiedLLMError

PROGRAM = "recorded"
CLIENTS = {
    "ai, OpenAI Chat": "openai-chat",
    "ai, OpenAI-compatible": "openai-chat",
    "ai, OpenAI Responses": "openai-responses",
    "ai, Anthropic": "anthropic-messages",
    "ai, Google": "google-generate-content",
}
MOST = 60
"""Records of the corpus of one protocol and kind, spread evenly."""
OPENAI = ("openai-chat", "openai-responses")
FINISHES = {
    "stop": {"stop"},
    "stop_sequence": {"stop"},
    "tool_calls": {"tool-calls"},
    "length": {"length"},
    "context_window": {"length"},
    "pause": {"length", "stop"},
    "safety": {"content-filter"},
    "recitation": {"content-filter"},
    "refusal": {"content-filter"},
    "malformed_call": {"other", "error", "content-filter"},
    "error": {"other", "error", "content-filter"},
    "cancelled": {"other", "length", "stop"},
    "other": {"other", "length", "stop"},
}
"""What the SDK may return, by the canonical reason. No protocol but Google's has a word for the last five."""
Node = dict[str, Any]


class Case(NamedTuple):
    """A record for one client: the bytes it gets, and the canonical answer they were made of."""

    client: str
    record: Node
    sent: bytes
    says: Node


def cases(sources: Sequence[str]) -> Iterator[Case]:
    """Every packaged record and a sample of the corpus, for each client of another protocol."""
    for protocol in sources:
        for kind in ("response", "stream"):
            found = list(recorded(protocol, kind))
            for record in (*fixtures(protocol, kind), *found[:: -(-len(found) // MOST) or 1]):
                yield from _cases(record)


def _cases(record: Node) -> Iterator[Case]:
    source = record["protocol"]
    try:
        if record["kind"] == "stream":
            says = ul.collect(ul.read_stream(record["events"], source))
        else:
            says = ul.dump(ul.read(record["body"], source, "response"))
    except UnifiedLLMError:
        return  # broken by intent, or the error of a server
    if says.get("status") in ("failed", "cancelled") or says.get("error"):
        return  # the client raises an error, as it should
    if _is_rollout(says):
        return
    for client, target in CLIENTS.items():
        if target == source:
            continue
        if record["kind"] == "stream":
            sent = suite.sse_bytes(ul.convert_stream(record["events"], source=source, target=target))
        else:
            sent = json.dumps(ul.convert(record["body"], source=source, target=target, kind="response").value).encode()
        # Google's client requests the rest without end. A failed response is an error, as it should be.
        if not any(word in sent for word in (b'"CONTINUATION"', b'"status": "failed"', b"event: response.failed")):
            yield Case(client, record, sent, says)


def results(packages: Path, sources: Sequence[str] | None, patience: float) -> Iterator[Node]:
    """One result for each case, as those of the programs: `problem` is None where nothing is wrong."""
    found = list(cases(sources or ul.protocols()))
    given = [{"client": c.client, "streamed": c.record["kind"] == "stream", "body": c.sent.decode()} for c in found]
    command = [NODE, str(packages / f"{PROGRAM}.mjs")]
    lines = "".join(json.dumps(each) + "\n" for each in given)
    done = subprocess.run(command, input=lines, stdout=subprocess.PIPE, text=True, timeout=patience, check=True)
    for case, line in zip(found, done.stdout.removesuffix("\n").split("\n"), strict=True):
        record = case.record
        problem = _problem(case, json.loads(line))
        yield {
            "client": f"{case.client}, recorded",
            "upstream": record["protocol"],
            "check": record["id"],
            "problem": problem,
        }


def _problem(case: Case, said: Node) -> str | None:
    if "problem" in said:
        return f"refused: {' '.join(said['problem'].split())[-300:]}"
    wanted, got = expected(case.says, case.client), understood(said)
    told = [
        f"{name}: {wanted[name]!r} in the answer, {got[name]!r} understood"
        for name in wanted
        if (got[name] not in wanted[name] if name in ("finish", "input") else got[name] != wanted[name])
    ]
    return "; ".join(told)[:300] or None


def understood(said: Node) -> Node:
    """What the SDK returned."""
    parts, usage = said["content"], said["usage"]
    return {
        "text": _words(part["text"] for part in parts if part["type"] == "text"),
        "reasoning": _words(part["text"] for part in parts if part["type"] == "reasoning"),
        "calls": [
            (part["toolName"], _parsed(part["input"]))
            for part in parts
            if part["type"] == "tool-call" and not part.get("providerExecuted")
        ],
        "urls": sorted({part["url"] for part in parts if part["type"] == "source" and "url" in part}),
        "input": usage["inputTokens"].get("total") or 0,
        "output": usage["outputTokens"].get("total") or 0,
        "finish": said["finish"],
    }


def expected(says: Node, client: str) -> Node:
    """What it has to return. Of Chat it reads neither thoughts nor sources, of Responses only summaries."""
    target = CLIENTS[client]
    items = says.get("output") or []
    parts = [part for item in items if item["type"] == "message" for part in _parts(item)]
    texts = {"output_text": "text", "text": "text", "refusal": "refusal"}
    if target in ("openai-responses", "anthropic-messages"):
        texts["output_audio"] = "transcript"  # they have no audio
    thoughts = [
        part.get("text") or ""
        for item in items
        if item["type"] == "reasoning"
        for part in (*(item.get("summary") or ()), *(item.get("content") or ()))
    ]
    told: Node = {
        "text": _words(part.get(texts.get(part["type"], "")) or "" for part in parts),
        "calls": [call for item in items for call in _calls(item, target)],
        "finish": _finishes(says, any(part["type"] == "refusal" for part in parts)),
    }
    if client in ("ai, OpenAI-compatible", "ai, Anthropic", "ai, Google"):
        told["reasoning"] = _words(thoughts)
    if client != "ai, OpenAI-compatible":
        notes = [note for part in parts for note in part.get("annotations") or ()]
        cited = ("url_citation",) if target == "google-generate-content" else ("url_citation", "place_citation")
        urls = {note["url"] for note in notes if note["type"] in cited and note.get("url")}
        if client == "ai, OpenAI Responses":  # where a search has its sources, the client takes those instead
            urls = {hit["url"] for item in items for hit in _hits(item)} or urls
        told["urls"] = sorted(urls)
    usage = says.get("usage") or {}
    given, of_tools = usage.get("input_tokens") or 0, (usage.get("input_tokens_details") or {}).get("tool_tokens") or 0
    told["input"] = (given, given - of_tools) if target == "google-generate-content" else (given,)
    told["output"] = usage.get("output_tokens") or 0
    return told


def _parts(message: Node) -> list[Node]:
    content = message.get("content") or []
    if message.get("role") not in (None, "assistant"):
        return []
    return [{"type": "output_text", "text": content}] if isinstance(content, str) else content


def _calls(item: Node, target: str) -> Iterator[tuple[str, Any]]:
    """The calls of an item that the client has to run."""
    if item["type"] == "function_call" and item.get("execution") != "server":
        arguments = _parsed(item.get("arguments") or "")
        yield item["name"], {"_raw": arguments} if isinstance(arguments, str) and target not in OPENAI else arguments
    elif item["type"] == "custom_tool_call":
        yield item["name"], item["input"] if target in OPENAI else {"input": item["input"]}


def _hits(item: Node) -> list[Node]:
    """The pages that a search of the provider's found."""
    found = item.get("results") if item["type"] == "web_search_result" else None
    return [hit for hit in found or () if hit.get("url")]


def _is_rollout(says: Node) -> bool:
    """Whether an agent put it together: it has results of the client's tools, which no answer has."""
    return any(item["type"] in ("function_call_output", "custom_tool_call_output") for item in says.get("output") or ())


def _finishes(says: Node, refuses: bool) -> set[str]:
    if refuses:
        return {"content-filter", "tool-calls"}
    reason = (says.get("finish") or {}).get("reason")
    if reason is None:
        return {"stop", "tool-calls", *({"other", "length"} if says.get("status") != "completed" else ())}
    return FINISHES[reason]


def _words(texts: Iterable[str]) -> str:
    """Texts without white space: Chat and Messages put empty lines between what were parts and items."""
    return "".join("".join(texts).split())


def _parsed(text: Any) -> Any:
    try:
        return json.loads(text or "{}")
    except (TypeError, ValueError):
        return text
