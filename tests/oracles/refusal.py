"""Errors: one exception, and the body and headers that each provider would send for it."""

from __future__ import annotations

from typing import Any

PROTOCOLS = (
    "anthropic-messages",
    "google-generate-content",
    "google-interactions",
    "openai-chat",
    "openai-responses",
)


class Refused(Exception):
    """A request that is answered with an error: HTTP status, message, and what the provider says beside it."""

    def __init__(self, message: str, *, status: int = 400, param: str | None = None, code: str | None = None,
                 retry_after: str | None = None) -> None:  # fmt: skip
        super().__init__(message)
        self.message, self.status, self.param, self.code, self.retry_after = message, status, param, code, retry_after


OPENAI = {
    401: ("invalid_request_error", "invalid_api_key"),
    404: ("invalid_request_error", "model_not_found"),
    429: ("rate_limit_error", "rate_limit_exceeded"),
}
MESSAGES = {
    401: "authentication_error", 402: "billing_error", 403: "permission_error", 404: "not_found_error",
    409: "conflict_error", 413: "request_too_large", 429: "rate_limit_error", 504: "timeout_error",
    529: "overloaded_error",
}  # fmt: skip
RPC = {
    400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND", 409: "ABORTED",
    429: "RESOURCE_EXHAUSTED", 499: "CANCELLED", 500: "INTERNAL", 501: "UNIMPLEMENTED", 503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}  # fmt: skip
INTERACTIONS = {
    400: "invalid_request", 401: "authentication", 402: "payment_required", 403: "permission_denied",
    404: "not_found", 409: "aborted", 416: "out_of_range", 429: "rate_limit_exceeded", 499: "cancelled",
    500: "api_error", 501: "unimplemented", 503: "service_unavailable", 504: "deadline_exceeded",
}  # fmt: skip


def error_body(protocol: str, error: Refused, request_id: str) -> dict[str, Any]:
    """The error in the provider's own shape."""
    status, message = error.status, error.message
    if protocol == "anthropic-messages":
        kind = MESSAGES.get(status, "invalid_request_error" if status < 500 else "api_error")
        inner: dict[str, Any] = {"type": kind, "message": message}
        if error.code:
            inner["details"] = {"error_code": error.code}
        return {"type": "error", "error": inner, "request_id": request_id}
    if protocol == "google-generate-content":
        word = error.code or RPC.get(status, "INVALID_ARGUMENT" if status < 500 else "INTERNAL")
        body: dict[str, Any] = {"code": status, "message": message, "status": word}
        if error.retry_after is not None:  # this API has it in the body alone
            retry = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": f"{error.retry_after}s"}
            body["details"] = [retry]
        return {"error": body}
    if protocol == "google-interactions":
        word = error.code or INTERACTIONS.get(status, "invalid_request" if status < 500 else "api_error")
        return {"error": {"code": word, "message": message}}
    kind, code = OPENAI.get(status, ("invalid_request_error" if status < 500 else "server_error", None))
    return {"error": {"message": message, "type": kind, "param": error.param, "code": error.code or code}}


def error_headers(protocol: str, error: Refused, request_id: str) -> dict[str, str]:
    """The headers that go with it."""
    headers = {"content-type": "application/json"}
    if protocol == "anthropic-messages":
        headers["request-id"] = request_id
    elif protocol.startswith("openai"):
        headers["x-request-id"] = request_id
    if error.retry_after is not None and protocol != "google-generate-content":
        headers["retry-after"] = error.retry_after
    return headers
