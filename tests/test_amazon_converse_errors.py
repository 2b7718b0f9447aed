"""Errors of Converse: the class in a header, exceptions inside a stream, and the errors that a client raises."""

from __future__ import annotations

import json
from typing import Any

import pytest

pytest.importorskip("botocore", reason="the extra amazon is not installed")

from botocore.parsers import create_parser

import unified_llm as ul
from botocore_wire import at, shape_of
from oracles.amazon_converse import MODEL, Converse, event, failure

CONVERSE = "amazon-converse"

ERRORS = {
    "ValidationException": (400, "invalid_request"),
    "AccessDeniedException": (403, "permission"),
    "ResourceNotFoundException": (404, "not_found"),
    "ModelTimeoutException": (408, "timeout"),
    "ModelErrorException": (424, "server_error"),
    "ThrottlingException": (429, "rate_limit"),
    "ModelNotReadyException": (429, "overloaded"),
    "InternalServerException": (500, "server_error"),
    "ServiceUnavailableException": (503, "overloaded"),
    "ExpiredTokenException": (403, "authentication"),
    "BrandNewException": (418, "invalid_request"),
}


@pytest.mark.parametrize(("word", "status", "kind"), [(word, *found) for word, found in ERRORS.items()])
def test_the_class_of_an_error_is_in_a_header(word: str, status: int, kind: str) -> None:
    http = {"status": status, "headers": {"x-amzn-ErrorType": f"{word}:http://internal/coral/", "retry-after": "7"}}
    body = {"message": "It failed.", "originalStatusCode": 500}
    error = ul.read(body, CONVERSE, "error", http=http).error
    assert [error[key] for key in ("type", "message", "status", "retry_after")] == [kind, "It failed.", status, 7]
    done = ul.convert(body, source=CONVERSE, target=CONVERSE, kind="error", http=http)
    assert done.value == body and done.http["status"] == status
    assert done.http["headers"] == {"x-amzn-errortype": word, "retry-after": "7"}
    said = create_parser("rest-json").parse(
        {"status_code": status, "headers": done.http["headers"], "body": json.dumps(done.value).encode()},
        shape_of("Converse"),
    )
    assert said["Error"] == {"Message": "It failed.", "Code": word}


def test_errors_are_typed() -> None:
    with pytest.raises(ul.PermissionDeniedError, match="no credentials"):
        ul.Client(at(Converse("another"))).responses.create(input="Hi")
    with pytest.raises(ul.InvalidRequestError, match="too large"):
        ul.Client(at(Converse())).responses.create(input="Hi", extra_body={"inferenceConfig": {"topP": 3}})


class Streaming:
    """A server whose stream is these bytes."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def handle(self, *_: Any) -> tuple[int, dict[str, str], bytes]:
        return 200, {"content-type": "application/vnd.amazon.eventstream"}, self.data


START = event("messageStart", {"role": "assistant"}) + event(
    "contentBlockDelta", {"delta": {"text": "Ra"}, "contentBlockIndex": 0}
)


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (START + failure("throttlingException", "slow down"), ul.RateLimitError),
        (START + failure("modelStreamErrorException", "broke"), ul.ServerError),
        (START, ul.StreamInterruptedError),
        (START + event("messageStop", {"stopReason": "end_turn"})[:-5] + b"12345" + START, ul.StreamInterruptedError),
    ],
)
def test_a_stream_that_fails(data: bytes, kind: type[Exception]) -> None:
    client = ul.Client(at(Streaming(data)), retry=ul.Retry.never())
    with pytest.raises(kind):
        with client.responses.create(input="Hi", stream=True) as stream:
            stream.get_final_response()


def test_a_failed_response_is_an_error_that_its_header_identifies() -> None:
    failed = {"id": "r1", "model": "m", "status": "failed", "error": {"type": "server_error", "message": "It broke."}}
    done = ul.write({**failed, "output": []}, CONVERSE, "response")
    assert done.value == {"message": "It broke."} and done.http["headers"]["x-amzn-requestid"] == "r1"
    assert {loss.path: loss.fate for loss in done.losses} == {"/id": "approximated", "/model": "approximated"}
    stream = ul.write_stream(
        [
            {"type": "response.created", "response": {**failed, "status": "in_progress", "error": None, "output": []}},
            {"type": "error", "error": failed["error"]},
        ],
        CONVERSE,
    )
    assert [each["event"] for each in stream] == ["messageStart", "internalServerException"]
    assert stream.http["headers"] == {"x-amzn-requestid": "r1"}
    assert {loss.path: loss.fate for loss in stream.losses if loss.path.endswith(("/id", "/model"))} == {
        "/0/response/id": "approximated",
        "/0/response/model": "approximated",
    }


MODELLED = {shape.name: shape.metadata["error"]["httpStatusCode"] for shape in MODEL.error_shapes}
"""The exceptions of the service's own model, with their status."""
FAILED = [
    ("anthropic-messages", status, {"type": "error", "error": {"type": word, "message": "m"}})
    for word, statuses in {
        "api_error": (424, 500, 502, 503, 529),
        "overloaded_error": (503, 529),
        "rate_limit_error": (429,),
        "timeout_error": (408, 504),
        "authentication_error": (401, 500),
        "permission_error": (403, 503),
        "not_found_error": (404, 429),
        "invalid_request_error": (400, 413, 422),
        "billing_error": (402, 429),
    }.items()
    for status in statuses
]


@pytest.mark.parametrize(("source", "status", "body"), FAILED)
def test_status_and_exception_are_a_pair_of_the_model(source: str, status: int, body: Any) -> None:
    done = ul.convert(body, source=source, target=CONVERSE, kind="error", http={"status": status})
    sent, word = done.http["status"], done.http["headers"]["x-amzn-errortype"]
    if sent in MODELLED.values():
        assert MODELLED.get(word, 403) == sent  # `UnrecognizedClientException` is of AWS, not of the service
    kind = ul.read(body, source, "error", http={"status": status}).model_dump()["error"]["type"]
    again = ul.read(done.value, CONVERSE, "error", http=done.http).model_dump()["error"]["type"]
    if kind != again:
        assert "approximated" in {loss.fate for loss in done.losses if loss.path == "/error/type"}


def test_an_overload_that_messages_calls_a_failure_is_one_of_converse() -> None:
    body = {"type": "error", "error": {"type": "api_error", "message": "m"}}
    done = ul.convert(body, source="anthropic-messages", target=CONVERSE, kind="error", http={"status": 503})
    assert done.http == {"status": 503, "headers": {"x-amzn-errortype": "ServiceUnavailableException"}}
    assert [(loss.path, loss.fate) for loss in done.losses] == [("/error/type", "approximated")]
