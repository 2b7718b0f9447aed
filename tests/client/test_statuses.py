"""A status keeps its class, from every upstream to the client and to every surface: who may retry, and who may not.

Clients go by the status and by `x-should-retry`. A 4xx that became a 5xx is sent again and again; a 504 that became a
broken connection hides that the server answered.
"""

from __future__ import annotations

import itertools
import pickle
from typing import Any

import httpx2
import pytest

import unified_llm as ul
from client.test_law_secrets import SURFACES as ROUTES
from sdk_surfaces import SURFACES, Surface
from unified_llm.client.sending.retry import Retry
from upstreams import Canned

STATUSES = [
    300, 301, 302, 303, 304, 307, 308, 400, 401, 402, 403, 404, 405, 406, 407, 408, 409, 410, 411, 412, 413, 414,
    415, 416, 417, 418, 421, 422, 423, 424, 425, 426, 428, 429, 431, 440, 444, 449, 451, 460, 463, 494, 495, 496,
    497, 498, 499, 500, 501, 502, 503, 504, 505, 506, 507, 508, 509, 510, 511, 520, 521, 522, 523, 524, 525, 526,
    527, 529, 530, 561, 598, 599,
]  # fmt: skip
PROTOCOLS = sorted(ROUTES)
PAGE = "<!DOCTYPE html>\n<html><head><title>Bad &amp; gone</title></head><body><h1>nginx</h1></body></html>"
EVERYWHERE = (400, 408, 429, 500, 503, 504)
# What the surfaces call an overload, and an account that is used up.
ALIKE = ({503, 529}, {402, 429})


def worded(protocol: str, kind: str, status: int) -> Any:
    """A body whose words mean `kind`, whatever the status is."""
    words = {
        "anthropic-messages": {"server": "api_error", "request": "invalid_request_error"},
        "google-generate-content": {"server": "INTERNAL", "request": "INVALID_ARGUMENT"},
        "google-interactions": {"server": "api_error", "request": "invalid_request"},
    }.get(protocol, {"server": "server_error", "request": "invalid_request_error"})
    error: dict[str, Any] = {"message": "words of the server"}
    if protocol == "google-generate-content":
        error |= {"code": status, "status": words[kind]}
    elif protocol == "google-interactions":
        error |= {"code": words[kind]}
    else:
        error |= {"type": words[kind]}
    return {"type": "error", "error": error} if protocol == "anthropic-messages" else {"error": error}


BODIES = {
    "none": lambda protocol, status: b"",
    "page": lambda protocol, status: PAGE.encode(),
    "null": lambda protocol, status: b"null",
    "empty": lambda protocol, status: b"{}",
    "empty message": lambda protocol, status: b'{"error": {"message": ""}}',
    "flat": lambda protocol, status: b'{"detail": "words of the server"}',
    "text": lambda protocol, status: b"words of the server",
    "server": lambda protocol, status: httpx2.Response(200, json=worded(protocol, "server", status)).content,
    "request": lambda protocol, status: httpx2.Response(200, json=worded(protocol, "request", status)).content,
}


def canned(protocol: str, status: int, body: str, **headers: str) -> Canned:
    kind = {"page": "text/html", "text": "text/plain"}.get(body, "application/json")
    content = BODIES[body](protocol, status)
    answer = lambda: httpx2.Response(status, content=content, headers={"content-type": kind, **headers})  # noqa: E731
    return Canned(answer, protocol=protocol)


def tried_again(status: int, headers: Any) -> bool:
    """What the official SDKs do about an answer."""
    said = headers.get("x-should-retry")
    return said == "true" if said in ("true", "false") else status in (408, 409, 429) or status >= 500


def may_pass(status: int) -> bool:
    """Whether another attempt may go better, by the meaning of the status alone (RFC 9110, and what SDKs retry)."""
    return status in (408, 409, 429) or (status >= 500 and status not in (501, 505))


def test_the_statuses_are_all_of_those_that_are_registered() -> None:
    from http import HTTPStatus

    assert {each.value for each in HTTPStatus if each.value >= 300} - {305} <= {*STATUSES}


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_client_raises_the_class_of_the_status(protocol: str, body: str) -> None:
    for status in STATUSES:
        there = canned(protocol, status, body)
        with pytest.raises(ul.APIError) as caught:
            ul.Client(there.upstream, retry=ul.Retry.never()).responses.create(input="Hi")
        error = caught.value
        assert error.status == status
        assert Retry.is_transient(error) == may_pass(status), (status, error)
        assert error.message.strip() and "<" not in str(error) and "nginx" not in str(error)
        if status == 408 or status >= 500:
            assert isinstance(error, (ul.ServerError, ul.OverloadedError, ul.APITimeoutError)), (status, error)
        elif status >= 400:
            assert not isinstance(error, (ul.ServerError, ul.OverloadedError, ul.APITimeoutError)), (status, error)
        if body in ("text", "server", "request") and status >= 400:
            assert "words of the server" in str(error)


def tried_by(surface: int, protocol: int, body: int) -> list[int]:
    """The statuses of one cell. The cells take turns: any two of surface, protocol and body meet every status."""
    turn = surface + 2 * protocol + 3 * body
    return [each for place, each in enumerate(STATUSES) if each in EVERYWHERE or (place + turn) % 5 == 0]


def test_any_two_meet_every_status() -> None:
    cells = list(itertools.product(range(len(ROUTES)), range(len(PROTOCOLS)), range(len(BODIES))))
    for one, other in ((0, 1), (0, 2), (1, 2)):
        met = {(cell[one], cell[other], status) for cell in cells for status in tried_by(*cell)}
        assert len(met) == len({(cell[one], cell[other]) for cell in cells}) * len(STATUSES)


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("surface", ROUTES)
def test_a_transport_answers_with_the_class_of_the_status(surface: str, protocol: str, body: str) -> None:
    path, request = ROUTES[surface]
    for status in tried_by([*ROUTES].index(surface), PROTOCOLS.index(protocol), [*BODIES].index(body)):
        there = canned(protocol, status, body)
        with ul.http_client(there.upstream) as http:
            answer = http.post(f"http://sdk/{path}", json=request)
        assert len(there.seen) == 1
        given = (answer.status_code, status)
        assert answer.status_code == status or {*given} in ALIKE, given
        assert tried_again(answer.status_code, answer.headers) == may_pass(status), (given, answer.headers)
        assert "<" not in answer.text and "nginx" not in answer.text, answer.text
        assert "server" in answer.text, answer.text


@pytest.mark.parametrize("said", ["true", "false"])
@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("surface", ROUTES)
def test_what_the_provider_advises_is_passed_on(surface: str, protocol: str, said: str) -> None:
    path, request = ROUTES[surface]
    for status in (400, 404, 429, 500, 503):
        there = canned(protocol, status, "server", **{"x-should-retry": said})
        with ul.http_client(there.upstream) as http:
            answer = http.post(f"http://sdk/{path}", json=request)
        assert answer.headers.get("x-should-retry") == said
        with pytest.raises(ul.APIError) as caught:
            ul.Client(there.upstream, retry=ul.Retry.never()).responses.create(input="Hi")
        assert Retry.is_transient(caught.value) is (said == "true")


@pytest.mark.parametrize("status", [408, 499, 503, 504])
@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("surface", SURFACES, ids=lambda each: each.protocol)
def test_an_sdk_raises_its_status_error(surface: type[Surface], protocol: str, status: int) -> None:
    there = canned(protocol, status, "server")
    sdk = surface(ul.http_client(there.upstream))
    sdk.ask("Hi")
    with pytest.raises(Exception, match="words of the server") as caught:
        sdk.call()
    error: Any = caught.value
    found = getattr(error, "status_code", None) or error.code
    assert found == status or {found, status} in ALIKE


def test_a_page_is_told_by_its_title() -> None:
    there = canned("openai-chat", 502, "page")
    with pytest.raises(ul.ServerError, match=r"HTTP 502 with an HTML page \('Bad & gone'\)") as caught:
        ul.Client(there.upstream, retry=ul.Retry.never()).responses.create(input="Hi")
    assert caught.value.body.startswith("<!DOCTYPE"), "the page itself is kept"


@pytest.mark.parametrize("status", [301, 307, 400, 404, 499])
def test_what_no_retry_repairs_is_asked_once(status: int) -> None:
    there = canned("openai-chat", status, "server")
    with pytest.raises(ul.APIError):
        ul.Client(there.upstream, retry=ul.Retry(base=0)).responses.create(input="Hi")
    assert len(there.seen) == 1


@pytest.mark.parametrize(
    ("error", "kind", "status"),
    [
        ({"message": "slow", "code": 429}, ul.RateLimitError, 429),
        ({"message": "slow", "code": "429"}, ul.RateLimitError, 429),
        ({"message": "slow", "type": "rate_limit_error"}, ul.RateLimitError, None),
        ({"message": "no", "type": "invalid_request_error", "code": "x_unknown"}, ul.InvalidRequestError, None),
        ({"message": "no", "code": "context_length_exceeded"}, ul.ContextOverflowError, None),
        ({"message": "no"}, ul.ServerError, None),
    ],
)
def test_an_error_in_a_200_keeps_the_code_that_it_tells(
    error: Any, kind: type[ul.APIError], status: int | None
) -> None:
    there = Canned({"error": error})
    with pytest.raises(kind) as caught:
        ul.Client(there.upstream, retry=ul.Retry.never()).responses.create(input="Hi")
    assert type(caught.value) is kind and caught.value.status == status
    path, request = ROUTES["anthropic-messages"]
    with ul.http_client(there.upstream) as http:
        answer = http.post(f"http://sdk/{path}", json=request)
    assert (answer.status_code < 500) == (kind is not ul.ServerError) and error["message"] in answer.text


@pytest.mark.parametrize("surface", [each for each in ROUTES if each != "google-generate-content"])
def test_a_request_without_a_model_is_refused_where_the_model_is_in_the_url(surface: str) -> None:
    there = Canned({}, protocol="google-generate-content", model=None)
    path, request = ROUTES[surface]
    with ul.http_client(there.upstream) as http:
        answer = http.post(f"http://sdk/{path}", json={key: value for key, value in request.items() if key != "model"})
    assert answer.status_code == 400 and "model" in answer.text and not there.seen
    with pytest.raises(ul.InvalidBody, match="/model"):
        ul.Client(there.upstream).responses.create(input="Hi")


RESET = 1_800_000_000_000
NOW = "Fri, 15 Jan 2027 08:00:00 GMT"  # what `RESET` is
WAITS: list[tuple[str, dict[str, str], dict[str, Any], float | None]] = [
    ("Rate limit reached for x on tokens per min. Please try again in 1.5s. Visit https://x.", {}, {}, 1.5),
    ("Rate limit reached. Please try again in 20ms.", {}, {}, 0.02),
    ("Rate limit reached. Please try again in 6m0s.", {"retry-after": "3"}, {}, 3),
    ("Rate limit reached. Please try again in 6m0s.", {}, {}, 360),
    ("Please retry after 20 seconds.", {}, {}, 20),
    ("Please try again later.", {}, {}, None),
    ("Rate limit exceeded", {"x-ratelimit-remaining": "0", "x-ratelimit-reset": str(RESET + 5000), "date": NOW}, {}, 5),
    ("Rate limit exceeded", {"date": NOW},
     {"headers": {"X-RateLimit-Limit": "50", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": str(RESET + 9000)}}, 9),
]  # fmt: skip


@pytest.mark.parametrize(("message", "headers", "metadata", "wait"), WAITS)
def test_a_limit_shows_when_it_ends(
    message: str, headers: dict[str, str], metadata: dict[str, Any], wait: float | None
) -> None:
    body = {"error": {"message": message, "code": 429, "metadata": metadata}}
    there = Canned(lambda: httpx2.Response(429, json=body, headers=headers))
    with pytest.raises(ul.RateLimitError) as caught:
        ul.Client(there.upstream, retry=ul.Retry.never()).responses.create(input="Hi")
    assert caught.value.retry_after == wait


def test_a_request_that_is_larger_than_the_limit_is_sent_once() -> None:
    error = {"message": "Request too large", "type": "tokens", "code": "rate_limit_exceeded"}
    there = Canned(lambda: httpx2.Response(413, json={"error": error}))
    with pytest.raises(ul.InvalidRequestError):
        ul.Client(there.upstream).responses.create(input="Hi")
    assert len(there.seen) == 1


@pytest.mark.parametrize("name", ["x-request-id", "request-id", "x-amzn-RequestId"])
def test_an_error_has_the_request_id_of_its_head(name: str) -> None:
    def refuse(_: httpx2.Request) -> httpx2.Response:
        body = {"error": {"message": "no", "type": "invalid_request_error"}}
        return httpx2.Response(400, json=body, headers={name: "rq"})

    client = ul.Client(http_client=httpx2.Client(transport=httpx2.MockTransport(refuse)))
    where: Any = {"base_url": "http://server.test/v1", "protocol": "openai-chat", "api_key": "k"}
    with pytest.raises(ul.InvalidRequestError) as raised:
        client.responses.create(model="m", input="Hi", **where)
    assert raised.value.request_id == "rq"
    assert pickle.loads(pickle.dumps(raised.value)).request_id == "rq"
