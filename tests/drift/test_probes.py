"""Probes: every capability has one for each kind it occurs in, or a reason why not; each is a canonical document."""

from __future__ import annotations

import functools
from typing import Any

import pytest

import unified_llm as ul
from unified_llm.drift import CANONICAL, KINDS, UNPROBED, Key, cell, observe, probes
from unified_llm.drift.probing import places, plain
from unified_llm.foundation.capabilities import CAPABILITIES
from unified_llm.suite.walk import nodes
from unified_llm.types._tables import CAPABILITY
from unified_llm.types.validation import validate

PROTOCOLS = ul.protocols()
ANSWERS_ONLY = {"response", "stream"}
REQUESTS_ONLY = {"request"}

WITHOUT: dict[str, set[str]] = {
    "settings of a request that an answer merely echoes": {
        "instructions",
        "image.input",
        "audio.input",
        "video.input",
        "file.input",
        "reasoning.effort",
        "reasoning.budget",
        "reasoning.control",
        "reasoning.visibility",
        "reasoning.context",
        "tools.strict",
        "tools.choice",
        "tools.allowed",
        "tools.grammar",
        "output.max_tokens",
        "output.structured",
        "output.stop",
        "output.verbosity",
        "output.modalities",
        "output.prediction",
        "sampling.temperature",
        "sampling.top_p",
        "sampling.top_k",
        "sampling.seed",
        "sampling.penalties",
        "cache.breakpoint",
        "cache.key",
        "include",
        "stream.options",
        "safety.identifier",
    },
    "said by the user or about the conversation so far, never by an answer": {
        "text.input",
        "file.reference",
        "media.detail",
        "message.role",
        "message.name",
        "tools.result",
        "tools.result.error",
        "tools.result.media",
        "tools.executor",
        "context.changes",
        "state.conversation",
        "agent.config",
        "safety.settings",
    },
}
"""Capabilities that are in no response, and why."""
NO_REQUEST = {
    "usage.tokens",
    "usage.cache",
    "usage.detail",
    "finish.reason",
    "finish.detail",
    "media.output",
    "output.refusal",
    "citations.url",
    "citations.other",
}
"""What only an answer can say."""
ERRORS = {"error.code", "error.detail"}
STREAMS = {"native.event"}


def test_every_capability_has_a_probe_or_a_reason() -> None:
    probed = {name for kind in KINDS for name in probes(kind)}
    without = {name for name, kinds in UNPROBED.items() if "" in kinds}
    assert probed | without == set(CAPABILITIES)
    assert not probed & without
    assert all(reason for kinds in UNPROBED.values() for reason in kinds.values())


def test_each_kind_is_probed_for_what_occurs_in_it() -> None:
    not_in_answers = {name for names in WITHOUT.values() for name in names}
    everywhere = {name for name, kinds in UNPROBED.items() if "" in kinds} | ERRORS | STREAMS
    assert set(CAPABILITIES) - set(probes("request")) == NO_REQUEST | everywhere
    assert set(CAPABILITIES) - set(probes("response")) == not_in_answers | everywhere
    assert set(probes("stream")) == set(probes("response")) - {"native.field"} | STREAMS
    assert set(probes("error")) == ERRORS


EACH = [
    pytest.param(probe, id=f"{kind}-{name}-{number}")
    for kind in KINDS
    for name, found in probes(kind).items()
    for number, probe in enumerate(found)
]


@pytest.mark.parametrize("probe", EACH)
def test_a_probe_is_a_canonical_document_that_has_its_capability(probe: Any) -> None:
    document = probe.of("openai-chat")
    if isinstance(document, dict):
        name = "response" if probe.kind == "stream" else probe.kind
        body = document["error"] if name == "error" else document
        valid = validate(name, body, strict=True)
        assert valid.model_dump(mode="json", exclude_unset=True, by_alias=True) == body
    found = places(plain(document), probe.bears, "openai-chat")
    assert found, "its bearing places are not in it"
    for paths in probe.bears:
        assert places(plain(document), [paths], "openai-chat"), f"{paths} is not in it"


def test_a_probe_is_small() -> None:
    for param in EACH:
        document = param.values[0].document
        assert sum(1 for _ in nodes(document)) < 100, param.id


@functools.cache
def spoken_somewhere() -> set[tuple[str, str]]:
    """The kinds and capabilities that at least one protocol has."""
    return {
        (kind, name)
        for kind in KINDS
        for name in probes(kind)
        if any(cell(Key(kind, CANONICAL, target, name)).fate == "native" for target in PROTOCOLS)
    }


def test_every_capability_that_is_probed_is_native_somewhere() -> None:
    assert {(kind, name) for kind in KINDS for name in probes(kind)} - spoken_somewhere() == set()


def test_a_protocol_that_says_it_natively_is_a_source() -> None:
    for kind, name in sorted(spoken_somewhere()):
        for source in ul.protocols():
            target = next(other for other in ul.protocols() if other != source)
            spoken = [
                observe._said_by(probe, source)[1].fate
                for probe in probes(kind)[name]
                if not probe.only or source in probe.only
            ]
            found = cell(Key(kind, source, target, name)).fate
            assert (found == "-") == ("native" not in spoken), (kind, name, source)


def test_capabilities_are_those_the_model_declares() -> None:
    assert {name for keys in CAPABILITY.values() for name in keys.values()} <= set(CAPABILITIES)


def test_what_means_the_same_is_found_in_several_places() -> None:
    paths = ['reasoning/control="disabled"|reasoning/effort="none"']
    one = places({"reasoning": {"control": "disabled"}}, paths, "p")
    other = places({"reasoning": {"effort": "none"}}, paths, "p")
    assert [place.meaning for place in one] == [place.meaning for place in other] == paths
    assert places({"reasoning": {"effort": "low"}}, paths, "p") == []


def test_equal_forms_are_one_form() -> None:
    short = {"input": "Hi", "instructions": "Be brief."}
    system = {"type": "message", "role": "system", "content": "Be brief."}
    long = {"input": [system, {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hi"}]}]}
    assert plain(short) == plain(long)
