"""Which of a provider's protocols a request is sent in: the one that carries most of it, unless one is named.

Who has what is from the wire references: a seed is known to Chat and generateContent, not to Responses and Messages;
top_k to Messages and generateContent; encrypted reasoning returns in Responses alone of the OpenAI protocols.
"""

from __future__ import annotations

from pathlib import Path

import httpx2
import openai
import pytest

import unified_llm as ul
from unified_llm.client.upstreams.protocol_selection import settled, shape_of
from unified_llm.client.upstreams.upstream import Upstream
from unified_llm.models import select
from upstreams import CHAT, Canned

SEED = {"input": "Hi", "seed": 7}
SEALED = {
    "type": "reasoning",
    "summary": [],
    "opaque": [{"kind": "encrypted_content", "data": "b64", "origin": {"protocol": "openai-responses"}}],
}


def spoken(upstream: Upstream) -> str:
    return upstream.protocol.partition(":")[0]


def test_a_name_is_all_the_protocols_of_its_provider() -> None:
    made = Upstream.of("openai/gpt-4.1")
    assert spoken(made) == "openai-responses"
    assert [spoken(each) for each in made.others] == ["openai-chat"]
    assert [each.model for each in made.others] == ["gpt-4.1"]


@pytest.mark.parametrize(
    ("request_", "protocol"),
    [
        ({"input": "Hi"}, "openai-responses"),
        (SEED, "openai-chat"),
        ({"input": "Hi", "stop": ["END"]}, "openai-chat"),
        ({"input": "Hi", "seed": 7, "previous_response_id": "resp_1"}, "openai-responses"),
        ({"input": [SEALED, {"type": "message", "role": "user", "content": "Hi"}], "user": "u"}, "openai-responses"),
    ],
)
def test_each_request_goes_where_most_of_it_is_carried(request_: dict[str, object], protocol: str) -> None:
    found = settled(Upstream.of("openai/gpt-4.1"), request_)
    assert spoken(found) == protocol
    assert found.others == () and found.model == "gpt-4.1"


@pytest.mark.parametrize("name", ["openai/gpt-4.1", "xai/grok-4", "google/gemini-2.5-pro", "local/echo"])
@pytest.mark.parametrize(
    "request_", [{"input": "Hi"}, SEED, {"input": "Hi", "top_k": 3}, {"input": "Hi", "stop": ["."]}]
)
def test_the_first_that_nothing_speaks_against_is_the_best_of_all(name: str, request_: dict[str, object]) -> None:
    provider, _, model = name.partition("/")
    every = select(provider, model, request_)
    first = select(provider, model, request_, thorough=False)
    assert first.protocol == every.protocol and first.ranked[0] == every.ranked[0]
    assert all(each.weight >= 0 for each in every.ranked) and len(first.ranked) <= len(every.ranked)


def test_what_spoke_against_the_others_is_told() -> None:
    assert "not openai-responses: sampling.seed lost (/seed)" in settled(Upstream.of("openai/gpt-4.1"), SEED).why
    assert settled(Upstream.of("openai/gpt-4.1"), {"input": "Hi"}).why.startswith("not openai-chat: ")


def test_a_wire_document_is_weighed_as_well() -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
    made = Upstream.of("openai/gpt-4.1")
    assert spoken(settled(made, body, "anthropic-messages")) == "openai-responses"
    assert spoken(settled(made, {**body, "seed": 7}, "openai-chat")) == "openai-chat"


@pytest.mark.parametrize(
    "made",
    [
        Upstream.of("openai/gpt-4.1", protocol="openai-responses"),
        Upstream.of("openai/gpt-4.1").with_(protocol="openai-responses"),
        Upstream.of("openai/gpt-4.1", base_url="http://localhost/v1", protocol="openai-responses"),
        Upstream(protocol="openai-responses", base_url="http://localhost/v1", provider="openai", model="gpt-4.1"),
    ],
)
def test_a_protocol_that_was_named_is_spoken(made: Upstream) -> None:
    assert settled(made, SEED) is made


def test_what_is_said_of_a_place_is_said_of_it_in_all_protocols() -> None:
    made = Upstream.of("openai/gpt-4.1", headers={"x-team": "blue"}, timeout=3)
    chat = settled(made.with_(model="gpt-4o"), SEED)
    assert (spoken(chat), chat.model, chat.timeout, chat.headers) == ("openai-chat", "gpt-4o", 3, {"x-team": "blue"})


def test_another_key_is_one_in_all_protocols(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def key_of(upstream: Upstream) -> str | None:
        request = httpx2.Request("POST", "http://any")
        assert upstream.auth is not None
        next(upstream.auth.sync_auth_flow(request))
        return request.headers.get("authorization")

    monkeypatch.setenv("TEAM_KEY", "of the team")
    file = tmp_path / "upstreams.toml"
    file.write_text('[upstreams.fast]\nmodel = "openai/gpt-4.1"\nkey_env = "TEAM_KEY"\n')
    loaded = Upstream.load(file)["fast"]
    given = Upstream.of(Upstream.of("openai/gpt-4.1"), api_key="given")
    for made, key in ((loaded, "Bearer of the team"), (given, "Bearer given")):
        chosen = settled(made, SEED)
        assert (spoken(made), key_of(made)) == ("openai-responses", key)
        assert (spoken(chosen), key_of(chosen)) == ("openai-chat", key)


@pytest.mark.parametrize("body", [{"messages": 5}, {}, None, []])
def test_a_request_that_is_none_is_told_of_when_it_is_converted(body: object) -> None:
    made = Upstream.of("openai/gpt-4.1")
    assert spoken(settled(made, body, "openai-chat")) == spoken(made)


def test_models_that_only_one_protocol_serves() -> None:
    assert Upstream.of("openai/o3-pro").others == ()
    # The choice is made for the model of the request.
    assert spoken(settled(Upstream.of("openai").with_(model="o3-pro"), SEED)) == "openai-responses"


def test_a_client_chooses_for_each_request() -> None:
    with ul.Client(upstream="local") as client:
        plain = client.responses.create(model="echo", input="Hi")
        seeded = client.responses.create(model="echo", **SEED)
        forced = client.responses.create(model="local/echo", protocol="openai-responses", **SEED)
        auto = client.responses.create(model="local/echo", protocol="auto", **SEED)
    assert plain.upstream.protocol == "openai-responses"
    assert seeded.upstream.protocol == auto.upstream.protocol == "openai-chat"
    assert "/seed" not in [loss.path for loss in seeded.losses if loss.fate == "lost"]
    assert "sampling.seed" in seeded.upstream.why
    assert forced.upstream.protocol == "openai-responses" and "/seed" in [loss.path for loss in forced.losses]


@pytest.mark.parametrize("options", [{}, {"protocol": "auto"}])
@pytest.mark.parametrize("name", ["local/echo", "local", None])
def test_a_transport_chooses_for_each_request(name: str | None, options: dict[str, str]) -> None:
    raw = openai.OpenAI(api_key="-", http_client=ul.http_client(name, **options)).chat.completions.with_raw_response
    model = "echo" if name == "local" else "local/echo"
    plain = raw.create(model=model, messages=[{"role": "user", "content": "Hi"}])
    seeded = raw.create(model=model, messages=[{"role": "user", "content": "Hi"}], seed=7)
    reason = "; not openai-responses: no fewer losses, and later in the provider's order"
    assert reason in plain.headers["x-unified-llm-protocol"]
    assert "; not openai-responses: sampling.seed lost" in seeded.headers["x-unified-llm-protocol"]
    assert plain.headers["x-unified-llm-protocol"].startswith("openai-chat; ")
    assert seeded.parse().choices[0].message.content == "Hi"


def test_a_transport_speaks_what_it_is_told_to() -> None:
    http = ul.http_client("local/echo", protocol="anthropic-messages")
    raw = openai.OpenAI(api_key="-", http_client=http).chat.completions.with_raw_response
    seeded = raw.create(model="any", messages=[{"role": "user", "content": "Hi"}], seed=7)
    assert seeded.headers["x-unified-llm-protocol"] == "anthropic-messages"


def test_streams_are_chosen_for_as_well() -> None:
    sdk = openai.OpenAI(api_key="-", http_client=ul.http_client("local/echo"))
    asked = {"model": "any", "messages": [{"role": "user", "content": "Hi"}], "stream": True}
    with sdk.chat.completions.with_streaming_response.create(**asked, seed=7) as answer:  # type: ignore[call-overload]
        assert answer.headers["x-unified-llm-protocol"].startswith("openai-chat; ")


def test_what_is_kept_is_looked_for_in_all_protocols() -> None:
    kept = {"id": "resp_1", "object": "response", "created_at": 1, "status": "completed", "model": "m", "output": []}
    there = Canned(kept, protocol="openai-responses")
    both = Canned(CHAT).upstream.with_(others=(there.upstream,))
    answer = ul.http_client(both).get("http://any/v1/responses/resp_1")
    assert answer.json()["id"] == "resp_1"
    assert [(each.method, each.url.path) for each in there.seen] == [("GET", "/v1/responses/resp_1")]


def test_a_sdks_client_leaves_the_choice_where_it_is_told_to() -> None:
    sdk = openai.OpenAI(api_key="-", http_client=httpx2.Client(transport=httpx2.MockTransport(lambda _: None)))  # type: ignore[arg-type, return-value]
    fixed, auto = Upstream.from_sdk(sdk, model="gpt-4.1"), Upstream.from_sdk(sdk, model="gpt-4.1", protocol="auto")
    assert spoken(settled(fixed, SEED)) == spoken(fixed) == "openai-responses"
    assert spoken(settled(auto, SEED)) == "openai-chat" and settled(auto, {"input": "Hi"}).protocol == fixed.protocol
    unknown = openai.OpenAI(api_key="-", base_url="http://localhost:1/v1", http_client=sdk._client)
    assert Upstream.from_sdk(unknown, protocol="auto").others == ()


def test_the_dry_run_is_made_once_for_requests_of_one_shape(monkeypatch: pytest.MonkeyPatch) -> None:
    from unified_llm.client.upstreams import protocol_selection

    made, seen = Upstream.of("openai/gpt-4.1-mini"), []
    real = protocol_selection.select
    monkeypatch.setattr(
        protocol_selection, "select", lambda *given, **options: seen.append(given) or real(*given, **options)
    )
    messages = [{"type": "message", "role": "user", "content": str(n)} for n in range(3)]
    for n in range(1, 4):
        settled(made, {"input": messages[:n], "temperature": n / 4})
    assert len(seen) == 1
    settled(made, {"input": messages, "temperature": 1, "tools": [{"type": "web_search"}]})
    assert len(seen) == 2


@pytest.mark.parametrize(
    ("name", "field", "first", "then"),
    [
        ("xai/grok-4", "n", 1, 2),
        ("openai/gpt-4.1", "stop", [], ["END"]),
        ("openai/gpt-4.1", "stop", ["a"], ["a", "b", "c", "d", "e"]),
        ("openrouter/openai/gpt-5", "store", True, False),
        ("openrouter/openai/gpt-5", "reasoning", {"effort": "none"}, {"effort": "high"}),
        ("google/gemini-2.5-pro", "include", ["message.output_text.logprobs"], ["reasoning.encrypted_content"]),
    ],
)
def test_what_a_setting_says_decides_again(
    name: str, field: str, first: object, then: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    from unified_llm.client.upstreams import protocol_selection

    monkeypatch.setattr(protocol_selection, "_chosen", {})
    made = Upstream.of(name)
    assert spoken(settled(made, {"input": "Hi", field: first})) != spoken(settled(made, {"input": "Hi", field: then}))


def test_the_shape_of_a_request_is_its_keys_and_kinds() -> None:
    image = {"type": "input_image", "image_url": "data:,"}
    one = {"input": [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hi"}]}]}
    assert shape_of(one) == shape_of({"input": one["input"] * 2})
    other = {"input": [{"type": "message", "role": "user", "content": [*one["input"][0]["content"], image]}]}
    assert shape_of(one) != shape_of(other)
    assert shape_of({"text": {"format": {}}}) != shape_of({"text": {"verbosity": "low"}})
