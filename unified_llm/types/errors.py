"""An error as the provider reports it: the error of a response, of a stream, and of a whole answer.

https://www.openresponses.org/specification https://docs.claude.com/en/api/errors https://google.aip.dev/193
"""

from typing import Annotated, Any, ClassVar

from .base import Node, cap

__all__ = ["ErrorBody"]


class ErrorBody(Node):
    """One error. `type` is its class, `code` the finer reason, `status` the HTTP status.

    `type` is invalid_request, authentication, permission, not_found, conflict, rate_limit, quota, overloaded,
    server_error, timeout, too_large, context_overflow, content_filter or other.

    `retry_after` is seconds to wait, `retry_at` the time (seconds since 1970) where that is all that is known,
    `should_retry` what the provider advises, `rate_limits` how much is left of what is counted
    (`{"tokens": {"limit", "remaining", "reset_after", "reset_at"}}`).

    https://www.openresponses.org/specification
    """

    node_name: ClassVar[str] = "error"
    node_capability: ClassVar[str] = "error.code"

    type: Annotated[str | None, cap("error.code")] = None
    code: Annotated[str | int | None, cap("error.code")] = None
    message: Annotated[str | None, cap("error.code")] = None
    param: Annotated[str | None, cap("error.detail")] = None
    status: Annotated[int | None, cap("error.code")] = None
    request_id: Annotated[str | None, cap("error.detail")] = None
    retry_after: Annotated[int | float | None, cap("error.detail")] = None
    retry_at: Annotated[int | float | None, cap("error.detail")] = None
    should_retry: Annotated[bool | None, cap("error.detail")] = None
    rate_limits: Annotated[dict[str, Any] | None, cap("error.detail")] = None
    details: Annotated[Any, cap("error.detail")] = None
    headers: Annotated[dict[str, Any] | None, cap("error.detail")] = None
    misalignment: Annotated[dict[str, Any] | None, cap("safety.settings")] = None
