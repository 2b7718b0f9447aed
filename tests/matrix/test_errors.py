"""Errors: the SDK raises its own class, with the provider's words, and has the time of a retry.

An upstream's overload is what the surface calls one: 529 at Messages, 503 elsewhere.
"""

from __future__ import annotations

from typing import Any

import pytest

from matrix.loopback import Loopback, surfaces, upstreams
from sdk_surfaces import Contents, Interactions, Messages, Surface

NAMES = {
    400: "BadRequestError",
    401: "AuthenticationError",
    403: "PermissionDeniedError",
    404: "NotFoundError",
    429: "RateLimitError",
    500: "InternalServerError",
}
MODES = ("plain", "stream", "async plain", "async stream")


def raised(house: Loopback, surface: type[Surface], protocol: str, mode: str, text: str) -> Any:
    talk = house.talk(surface, protocol)
    talk.sdk.ask(text)
    with pytest.raises(Exception, match="on purpose") as caught:
        talk.call(mode)
    assert len(house.seen) == 1, "an SDK that tries nothing again asks once"
    return caught.value


def status_of(error: Any) -> int:
    return int(error.code if type(error).__module__ == "google.genai.errors" else error.status_code)


def retry_after(error: Any, surface: type[Surface]) -> str | None:
    """When to come back: a header, and at generateContent a detail of the error."""
    if surface is Contents:
        details = error.details["error"].get("details", [])
        return next((each["retryDelay"].removesuffix("s") for each in details if "retryDelay" in each), None)
    found: str | None = error.response.headers.get("retry-after")
    return found


@surfaces
@upstreams
@pytest.mark.parametrize("status", sorted(NAMES))
def test_errors_are_the_sdks_own(house: Loopback, surface: type[Surface], protocol: str, status: int) -> None:
    mode = MODES[sorted(NAMES).index(status) % 4]
    error = raised(house, surface, protocol, mode, f'[[error {status} message="on purpose"]]')
    assert status_of(error) == status
    if surface is Contents:
        assert type(error).__name__ == ("ClientError" if status < 500 else "ServerError")
    else:
        assert type(error).__name__ == NAMES[status]
    assert retry_after(error, surface) is None


@surfaces
@upstreams
@pytest.mark.parametrize("mode", ["async plain"])
def test_who_is_to_wait_is_told_how_long(house: Loopback, surface: type[Surface], protocol: str, mode: str) -> None:
    error = raised(house, surface, protocol, mode, '[[error 429 retry-after=7 message="on purpose"]]')
    assert status_of(error) == 429
    assert retry_after(error, surface) == "7"


@surfaces
@upstreams
@pytest.mark.parametrize("mode", ["stream"])
def test_an_overload_is_what_the_surface_calls_one(
    house: Loopback, surface: type[Surface], protocol: str, mode: str
) -> None:
    status = 529 if protocol == "anthropic-messages" else 503
    error = raised(house, surface, protocol, mode, f'[[error {status} retry-after=3 message="on purpose"]]')
    own = {Messages: (529, "OverloadedError"), Contents: (503, "ServerError")}
    assert (status_of(error), type(error).__name__) == own.get(surface, (503, "InternalServerError"))
    if surface in (Messages, Contents):
        assert ("overloaded_error" if surface is Messages else "UNAVAILABLE") in str(error.__dict__)
    assert retry_after(error, surface) == "3"


@surfaces
@upstreams
@pytest.mark.parametrize("mode", ["stream", "async stream"])
def test_an_error_in_a_stream_is_raised_or_told(
    house: Loopback, surface: type[Surface], protocol: str, mode: str
) -> None:
    talk = house.talk(surface, protocol)
    talk.sdk.ask('One two three four. [[error 503 after 4 message="on purpose"]]')
    if surface is not Interactions:
        with pytest.raises(Exception, match="on purpose"):
            talk.call(mode)
        return
    # Whose SDK hands out the event of it, and no success behind it.
    talk.sdk.take = lambda found: found  # type: ignore[method-assign, assignment]
    told: Any = talk.call(mode)
    (error,) = (each["error"] for each in told if each["event_type"] == "error")
    assert error["message"] == "on purpose"
    assert all(each["interaction"]["status"] == "failed" for each in told if each["event_type"].endswith("completed"))
