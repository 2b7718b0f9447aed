"""The suite itself: its ways about JSON, and that each law sees the very breach it is there for.

A law that cannot fail proves nothing, so the front door is replaced by one that breaks it, on one small document.
"""

from __future__ import annotations

import dataclasses
import random
import sys
from typing import Any

import pytest

import unified_llm as ul
from unified_llm import suite
from unified_llm.engine import registry
from unified_llm.suite import mutate, walk

DOC = {"a": [1, {"b/c": None}], "d": {}, "e": ""}
RECORD = {
    "id": "one",
    "protocol": "openai-chat",
    "kind": "request",
    "body": {"model": "m", "messages": [{"role": "user", "content": "Hello"}], "seed": 7, "temperature": 0.5},
}


def test_leaves_are_scalars_and_empty_containers() -> None:
    assert [(walk.pointer(path), value) for path, value in walk.leaves(DOC)] == [
        ("/a/0", 1),
        ("/a/1/b~1c", None),
        ("/d", {}),
        ("/e", ""),
    ]


def test_pointers_go_both_ways() -> None:
    for path, _ in walk.nodes(DOC):
        assert walk.as_path(DOC, walk.pointer(path)) == path


def test_changes_leave_the_document_alone() -> None:
    before = repr(DOC)
    assert walk.replaced(DOC, ("a", 1, "b/c"), 2)["a"][1] == {"b/c": 2}
    assert walk.replaced(DOC, ("d", "new"), 2)["d"] == {"new": 2}
    assert walk.deleted(DOC, ("a", 0)) == {"a": [{"b/c": None}], "d": {}, "e": ""}
    assert repr(DOC) == before


@pytest.mark.parametrize(
    ("one", "other"), [(1, 1.0), (1, True), (0, False), (None, 0), ("1", 1), ([], {}), ({"a": 1}, {})]
)
def test_json_equality_knows_types(one: Any, other: Any) -> None:
    assert not walk.same(one, other)
    assert walk.same([one], [one])
    assert walk.differences({"x": [0, one]}, {"x": [0, other]})


def test_differences_are_the_outermost_places() -> None:
    assert walk.differences({"a": 1, "b": [1, 2]}, {"b": [1, 3, 4], "c": 5}) == [("a",), ("b", 1), ("b", 2), ("c",)]


@pytest.mark.parametrize(
    "value", [True, 0, 1.5, "", "abc", "z9Z", '{"city":"Oslo"}', "data:image/png;base64,AAA=", "…"]
)
def test_altered_values_differ_and_keep_their_type(value: Any) -> None:
    assert not walk.same(mutate.altered(value), value)
    assert walk.json_type(mutate.altered(value)) == walk.json_type(value)


def test_mutants_follow_from_the_seed() -> None:
    first = list(mutate.mutants(DOC, 50, 1))
    assert list(map(repr, first)) == list(map(repr, mutate.mutants(DOC, 50, 1)))
    assert len(set(map(repr, first))) > 25
    assert repr(mutate.mutate(DOC, random.Random(3))) != repr(DOC)


def replace_value(monkeypatch: pytest.MonkeyPatch, change: Any, losses: Any = None) -> None:
    """Let `convert` give something else: `change` of the body, and `losses` in place of the report."""

    def convert(body: Any, **_: Any) -> ul.Converted:
        return ul.Converted(change(body), ul.Losses(losses or ()))

    monkeypatch.setattr(ul, "convert", convert)


def without(key: str) -> Any:
    return lambda body: {name: value for name, value in body.items() if name != key}


def test_identity_sees_a_number_that_changed_its_type(monkeypatch: pytest.MonkeyPatch) -> None:
    replace_value(monkeypatch, lambda body: {**body, "seed": float(body["seed"])})
    assert [failure.path for failure in suite.identity("openai-chat", [RECORD])] == ["/seed"]


def test_sensitivity_sees_what_is_dropped_in_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    replace_value(monkeypatch, without("seed"))
    monkeypatch.setattr(ul, "read", lambda body, *_, **__: body)
    assert {failure.path for failure in suite.sensitivity([RECORD], "x")} == {"/seed"}
    replace_value(monkeypatch, without("seed"), [ul.Loss("/seed", "sampling.seed", "lost")])
    assert suite.sensitivity([RECORD], "x") == []


STOPS = {**RECORD, "body": {"model": "m", "stop": ["a", "b", "c", "d"], "metadata": {"of": {"k": "v"}}}}


@pytest.mark.parametrize(("place", "seen"), [(0, 0), (1, 1), (2, None), (3, 3)])
def test_sensitivity_tries_first_last_and_one_between(
    place: int, seen: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def deaf(body: Any) -> Any:
        words = body.get("stop", "none")
        return {**body, "stop": [*words[:place], "-", *words[place + 1 :]]}

    replace_value(monkeypatch, deaf)
    monkeypatch.setattr(ul, "read", lambda body, *_, **__: body)
    found = {failure.path for failure in suite.sensitivity([STOPS], "x")}
    assert found == (set() if seen is None else {f"/stop/{seen}"})


def test_sensitivity_sees_an_object_that_is_always_there(monkeypatch: pytest.MonkeyPatch) -> None:
    replace_value(
        monkeypatch, lambda body: {**body, "metadata": {"of": {"k": "v", **body.get("metadata", {}).get("of", {})}}}
    )
    monkeypatch.setattr(ul, "read", lambda body, *_, **__: body)
    assert [each.path for each in suite.sensitivity([STOPS], "x")] == ["/metadata", "/metadata/of", "/metadata/of/k"]
    below = [ul.Loss("/metadata/of/k", "metadata", "approximated")]
    replace_value(monkeypatch, lambda body: {**body, "metadata": {}}, below)
    assert suite.sensitivity([STOPS], "x") == []


def test_specificity_sees_what_is_called_lost_and_arrived(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = [ul.Loss("/messages/0", "text.input", "lost"), ul.Loss("/nowhere", "text.input", "lost")]
    replace_value(monkeypatch, lambda body: body, whole)
    assert [failure.path for failure in suite.specificity([RECORD], "x")] == ["/messages/0", "/nowhere"]
    replace_value(monkeypatch, without("seed"), [ul.Loss("/seed", "sampling.seed", "lost")])
    assert suite.specificity([RECORD], "x") == []


CHAT = "openai-chat"
HELLO = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
LAWS: dict[str, Any] = {
    "all": lambda found: suite.all(CHAT, found, others=[], mutants=1),
    "chunking": lambda found: suite.chunking(found, CHAT),
    "collecting": lambda found: suite.collecting(CHAT, found, lambda _: HELLO),
    "covering": suite.covering,
    "decomposing": lambda found: suite.decomposing(CHAT, found),
    "edit": lambda found: suite.edit(CHAT, found),
    "frame_sensitivity": lambda found: suite.frame_sensitivity(found, [CHAT]),
    "fuzz": lambda found: suite.fuzz(found, [CHAT], 1),
    "identity": lambda found: suite.identity(CHAT, found),
    "minds": lambda found: suite.minds(CHAT, CHAT, found, lambda answer: answer),
    "repeating": lambda found: suite.repeating(found, CHAT),
    "stream_sensitivity": lambda found: suite.stream_sensitivity(found, [CHAT]),
    "truncation": lambda found: suite.truncation(found, [CHAT]),
    "valid": lambda found: suite.valid(found, CHAT, lambda *_: None),
}


@pytest.mark.parametrize("law", sorted(LAWS))
@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"id": "a", "protocol": CHAT, "body": HELLO}, "record 'a' has no 'kind'"),
        ({"protocol": CHAT, "kind": "request", "body": HELLO}, "record 0 has no 'id'"),
        ({"id": "a", "kind": "request", "body": HELLO}, "record 'a' has no 'protocol'"),
        ({"id": "a", "protocol": CHAT, "kind": "stream"}, "record 'a', of kind 'stream', has no '(events|body)'"),
        ({"id": "a", "protocol": CHAT, "kind": "request"}, "record 'a', of kind 'request', has no '(body|events)'"),
        (("a", HELLO), "record 0 is a tuple; a record is a dict"),
    ],
)
def test_what_a_record_lacks_is_named(record: Any, message: str, law: str) -> None:
    with pytest.raises(ul.InvalidArgument, match=f"^{message}$"):
        LAWS[law]([record])


def test_a_stream_that_is_given_as_a_body_is_named() -> None:
    record = {"id": "s", "protocol": CHAT, "kind": "stream", "body": []}
    with pytest.raises(ul.InvalidArgument, match=r"^record 's', of kind 'stream', has no 'events'$"):
        suite.identity(CHAT, [record])


def test_injection_sees_unknown_keys_and_words_go(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {"model", "messages", "seed", "temperature"}
    replace_value(monkeypatch, lambda body: {key: value for key, value in body.items() if key in known})
    assert [failure.path for failure in suite.injection([RECORD], "x")] == [f"/{mutate.PROBE_KEY}"]
    replace_value(monkeypatch, lambda body: {**body, "messages": [{**body["messages"][0], "role": "user"}]})
    assert [failure.path for failure in suite.injection([RECORD], "x")] == ["/messages/0/role"]


CALL = {"functionCall": {"name": "f", "args": {}}}
GAVE = {"functionResponse": {"name": "f", "response": {"a": 1}}}
LOOP = [{"role": "user", "parts": [{"text": "Hi"}]}, {"role": "model", "parts": [CALL]}]


@pytest.mark.parametrize("way", [1, -1])
def test_an_edit_of_a_made_id_proves_nothing_in_either_order(way: int) -> None:
    """It is dropped when it is written; an id that a client gave is not."""
    bare = [*LOOP, {"role": "user", "parts": [GAVE]}]
    named = [
        LOOP[0],
        {"role": "model", "parts": [{"functionCall": {**CALL["functionCall"], "id": "c-1"}}]},
        {"role": "user", "parts": [{"functionResponse": {**GAVE["functionResponse"], "id": "c-1"}}]},
    ]
    made = [
        {"id": name, "protocol": "google-generate-content", "kind": "request", "body": {"contents": contents}}
        for name, contents in (("bare", bare), ("named", named))
    ][::way]
    seen: set[tuple[str, ...]] = set()
    assert suite.edit("google-generate-content", made, seen) == []
    assert any(place.endswith("/call_id") for _, _, place, _ in seen)


def test_prefix_stability_sees_a_past_that_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    turns = [{"role": role, "content": str(n)} for n in range(4) for role in ("user", "assistant")]
    record = {**RECORD, "body": {"model": "m", "messages": turns}}
    replace_value(monkeypatch, lambda body: body)
    assert suite.prefix_stability([record], "x", history="messages", target_history="messages") == []
    replace_value(
        monkeypatch, lambda body: {"messages": [{**m, "of": len(body["messages"])} for m in body["messages"]]}
    )
    assert suite.prefix_stability([record], "x", history="messages", target_history="messages")


def test_fuzz_sees_foreign_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    def convert(body: Any, **_: Any) -> None:
        raise KeyError("messages")

    monkeypatch.setattr(ul, "convert", convert)
    done = suite.fuzz([RECORD], ["x"], 20)
    assert (done.mutants, done.refused, len(done.failures)) == (20, 20, 20)


def test_validity_gathers_what_a_check_returns_and_raises() -> None:
    def check(value: Any, kind: str) -> list[str]:
        assert kind == "request"
        if "seed" in value:
            raise ValueError("no seed here")
        return ["/model: is odd", "all of it is"] if value["model"] == "m" else []

    assert suite.valid([RECORD], "openai-responses", check) == [
        suite.Failure("one", "/model", "is odd"),
        suite.Failure("one", "", "all of it is"),
    ]
    assert suite.valid([RECORD], "openai-responses", check, model="n") == []
    assert suite.valid([RECORD], "google-generate-content", lambda value, kind: None) == []
    assert suite.valid([RECORD], "openai-chat:groq", check) == []


def test_validity_sees_a_record_that_is_taken_for_malformed() -> None:
    broken = {**RECORD, "body": {**RECORD["body"], "messages": "none"}}
    (failure,) = suite.valid([broken], "openai-responses", lambda value, kind: None)
    assert "InvalidBody" in failure.detail


def test_validity_gives_a_raised_problem_a_place() -> None:
    def check(value: Any, kind: str) -> None:
        raise ValueError("out of range")

    assert suite.valid([RECORD], "openai-responses", check) == [
        suite.Failure("one", "", "ValueError: out of range"),
    ]


def test_what_an_error_says_twice_may_be_deleted_once() -> None:
    from unified_llm.suite.laws import said_beside

    body = {"code": "busy", "error": {"code": "busy", "message": "later", "param": "x"}, "inner": {"param": "y"}}
    assert said_beside(body, ("error", "code"), "error") and said_beside(body, ("code",), "error")
    assert not said_beside(body, ("error", "param"), "error") and not said_beside(body, ("error", "message"), "error")
    assert not said_beside(body, ("error", "code"), "response") and not said_beside(body, ("code",), "request")


def test_packaged_records_are_new_at_each_call_and_narrowed_down() -> None:
    one, other = suite.records("openai-chat", "request"), suite.records("openai-chat", "request")
    assert one == other and one[0]["body"] is not other[0]["body"]
    assert {(each["protocol"], each["kind"]) for each in suite.records(kind="stream")} == {
        (protocol, "stream") for protocol in {each["protocol"] for each in suite.records()}
    }
    assert suite.records("nobody") == []


def test_covering_keeps_every_kind_of_place_in_fewer_records() -> None:
    def places(found: list[dict[str, Any]]) -> set[tuple[str, str]]:
        bodies = [each["body"] for each in found]
        return {(walk.shape(body, path), walk.json_type(value)) for body in bodies for path, value in walk.nodes(body)}

    every = suite.records("anthropic-messages", "response")
    few = suite.covering(every)
    assert len(few) < len(every) and places(few) == places(every)
    assert suite.covering([*few, *few]) == few


def test_a_mutant_that_is_null_is_converted_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """And not the document that it was made of."""
    monkeypatch.setattr(sys.modules["unified_llm.suite.fuzz"], "mutants", lambda *_: iter([None]))
    body = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
    record = {"id": "r", "protocol": "openai-chat", "kind": "request", "body": body}
    assert suite.fuzz([record], ["anthropic-messages"], 1) == (1, 1, [])


def test_documents_without_a_canonical_class_are_passed_over() -> None:
    """A list of models among the records ends no law: it has no canonical form that an edit could alter."""
    listed = {"object": "list", "data": [{"id": "m", "object": "model", "created": 1, "owned_by": "x", "mood": "calm"}]}
    models = {"id": "models", "protocol": CHAT, "kind": "models", "body": listed}
    stream = {"id": "stream", "protocol": CHAT, "kind": "stream", "events": []}
    assert suite.edit(CHAT, [models, stream]) == []
    assert suite.unclassified_fields(CHAT, [models]) == []
    assert suite.all(CHAT, [models], others=[], mutants=0) == {}


def test_an_unwritten_type_is_reported_with_what_to_declare() -> None:
    ul.register(dataclasses.replace(registry.adapter(CHAT), protocol="mine", refuses={}, mappings=()))
    try:
        found = {failure.path: failure.detail for failure in suite.unclassified_types("mine")}
    finally:
        del registry._loaded["mine"]
    wanted = "is neither written nor refused; give a reason in `refuses`, or name it in `by_hand` if a writer places it"
    assert found["input_audio"] == wanted
