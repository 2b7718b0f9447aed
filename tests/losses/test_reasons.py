"""Every entry of a report has a reason, and next to none of them is the one for whatever has no better one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from fnmatch import fnmatchcase, translate
from typing import Any

import pytest

import corpus
import unified_llm as ul
from unified_llm.foundation.capabilities import CAPABILITIES, is_known
from unified_llm.losses import FATES, Loss, Losses, reasons
from unified_llm.losses.advice import _advice, advice
from unified_llm.losses.reasons import _data, is_bookkeeping, is_default
from unified_llm.losses.report import with_reasons

PROTOCOLS = list(corpus.PROTOCOLS.values())
EVERY = 5  # of recorded documents; fixtures are all looked at


def documents(kind: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for source in PROTOCOLS:
        yield from ((source, record) for record in corpus.fixtures(source, kind))
        yield from (
            (source, record) for number, record in enumerate(corpus.recorded(source, kind)) if not number % EVERY
        )


def reports(kind: str) -> Iterator[Losses]:
    for source, record in documents(kind):
        for target in PROTOCOLS:
            if target == source:
                continue
            try:
                if kind == "stream":
                    stream = ul.convert_stream(record["events"], source=source, target=target)
                    list(stream)
                    yield stream.losses
                else:
                    yield ul.convert(record["body"], source=source, target=target, kind=kind).losses
            except ul.UnifiedLLMError:
                continue


@pytest.mark.parametrize("kind", corpus.KINDS)
def test_every_entry_has_a_reason_and_few_have_the_default(kind: str) -> None:
    found: Counter[bool] = Counter()
    bare = []
    for report in reports(kind):
        for loss in report:
            if not loss.detail.strip():
                bare.append(loss)
            elif loss.fate in ("lost", "approximated"):
                found[is_default(loss.detail)] += 1
    assert bare == []
    assert found[False] and found[True] <= 0.05 * found.total()


def test_a_canonical_document_has_reasons_too() -> None:
    request = {"model": "m", "input": "Hi", "seed": 7, "acme": 1}
    details = {loss.path: loss.detail for loss in ul.write(request, "anthropic-messages").losses}
    assert details["/seed"] and details["/acme"]
    answer = {"id": "r", "status": "completed", "model": "m", "output": [], "service_tier": "flex", "acme": 1}
    stream = ul.write_stream(ul.decompose(answer), "google-generate-content")
    list(stream)
    assert stream.losses and all(loss.detail for loss in stream.losses)


def test_a_reason_of_the_adapter_stays() -> None:
    given = Losses([Loss("/a", "sampling.seed", "lost", "told"), Loss("/b", "sampling.seed", "lost")])
    assert [loss.detail for loss in with_reasons(given, "a", "b:c", "request")] == ["told", "b:c has no seed"]


def test_an_unknown_fate_of_a_foreign_capability_has_a_reason() -> None:
    for fate in FATES:
        (loss,) = with_reasons(Losses([Loss("/a", "x.acme.mood", fate)]), "", "b", "request")  # type: ignore[arg-type]
        assert is_default(loss.detail)


def test_the_rows_name_what_there_is() -> None:
    for section in ("repeated", "bookkeeping", "lost", "added"):
        for row in _data()[section]:
            kind, capability, protocols, paths, reason = row
            source, _, target = protocols.partition(" > ")
            assert kind in ("*", "request", "response", "error") and is_known(capability) and paths.split(), row
            for glob in (source, target):
                assert any(fnmatchcase(name, glob) for name in PROTOCOLS), row
            assert len(reason.split()) <= 14 and (section in ("lost", "added") or is_bookkeeping(reason)), row
    assert set(_data()["default"]) == {*FATES, *(name for name in CAPABILITIES if name.startswith("native."))}


def test_every_capability_has_a_reason_of_its_own() -> None:
    for capability in CAPABILITIES:
        for kind in ("request", "response"):
            (loss,) = with_reasons(Losses([Loss("/a/b", capability, "lost")]), "a", "b", kind)
            assert capability.startswith("native.") or not is_default(loss.detail), capability


def test_every_capability_has_an_advice() -> None:
    assert list(_advice()) == list(CAPABILITIES)
    for capability in CAPABILITIES:
        assert advice(capability).endswith("."), capability


def test_explain_says_what_why_and_what_instead() -> None:
    body = {"model": "m", "seed": 7, "messages": [{"role": "user", "content": "Hi"}]}
    losses = ul.preview(body, source="openai-chat", target="anthropic-messages")
    what, why, instead = losses.explain("sampling.seed").split("\n")
    assert what == f"sampling.seed: {CAPABILITIES['sampling.seed']}"
    assert why == f"lost at /seed: {next(loss.detail for loss in losses if loss.path == '/seed')}"
    assert instead == f"Instead: {advice('sampling.seed')}"
    assert "no losses" in losses.explain("tools.function")
    assert Losses().explain("x.acme.mood") == "x.acme.mood\nno losses"
    with pytest.raises(ValueError, match=r"did you mean 'sampling\.seed'"):
        losses.explain("seed")


@pytest.mark.parametrize(
    ("setting", "severity", "reason"),
    [
        ({"enable_thinking": True}, "high", "name the dialect of the source"),
        ({"thinking_budget": 500}, "high", "name the dialect of the source"),
        ({"reasoning_format": "parsed"}, "medium", "a setting of some servers"),
        ({"safety_identifier": "s", "user": "u"}, "low", "takes one id of the end user"),
        ({"usage": {"include": True}}, "medium", "setting of one server"),
    ],
)
def test_a_reason_does_not_deny_what_the_target_has(setting: dict[str, Any], severity: str, reason: str) -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": "?"}], **setting}
    losses = ul.convert(body, source="openai-chat", target="anthropic-messages").losses
    (loss,) = [loss for loss in losses if loss.fate == "lost"]
    assert loss.severity == severity and reason in loss.detail


def test_bookkeeping_of_servers_and_gateways_is_of_low_severity() -> None:
    """Vercel's gateway, Azure, SGLang and Mistral: ids, timings and positions that no client of another API misses."""
    choice = {"index": 0, "finish_reason": "stop", "matched_stop": 1}
    body = {
        "id": "i", "object": "chat.completion", "created": 1, "model": "m", "generationId": "g",
        "latency_checkpoint": {"total_duration_ms": 3},
        "choices": [{**choice, "message": {"index": 0, "role": "assistant", "content": "Hi"}}],
    }  # fmt: skip
    chunk = {**body, "object": "chat.completion.chunk", "choices": [{**choice, "delta": {"index": 0, "content": "Hi"}}]}
    stream = ul.convert_stream([{"event": None, "data": chunk}], source="openai-chat", target="openai-responses")
    list(stream)
    whole = ul.convert(body, source="openai-chat", target="openai-responses", kind="response").losses
    for losses in (whole, stream.losses):
        lost = {loss.path.rpartition("/")[2]: loss.severity for loss in losses if loss.fate == "lost"}
        assert lost == dict.fromkeys(("matched_stop", "index", "generationId", "latency_checkpoint"), "low")


def test_the_rows_are_read_once_for_all_events_of_a_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[str] = []

    def counted(pattern: str) -> str:
        found.append(pattern)
        return translate(pattern)

    monkeypatch.setattr(reasons, "translate", counted)
    for number in range(200):
        reasons.repeated_reason(f"/{number}/data/choices/0/delta/audio/{number}", "openai-chat", "anthropic-messages")
    assert len(found) <= len([pattern for row in _data()["repeated"] for pattern in row[3].split()])
