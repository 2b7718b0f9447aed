"""Tokens of a cloud: when one is fetched, by which thread, and the error where none can be had."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable
from typing import Any

import httpx2
import pytest

import unified_llm as ul
from client.test_law_secrets import CANARY, assert_clean
from unified_llm.client.upstreams.tokens import Tokens, unavailable


class Cloud:
    """A source of tokens that last for an hour, and a clock."""

    def __init__(self) -> None:
        self.now, self.asked, self.lasting = 1_000_000.0, list[bool](), 3600.0
        self.error: Exception | None = None
        self.name: Callable[[], str] = lambda: f"token-{len(self.asked)}"
        self.tokens = Tokens(self, name="cloud", clock=lambda: self.now)

    def __call__(self, audience: str, renew: bool) -> tuple[str, float]:
        self.asked.append(renew)
        if self.error is not None:
            raise self.error
        return self.name(), self.now + self.lasting


def test_a_token_is_kept_until_shortly_before_its_end() -> None:
    cloud = Cloud()
    assert cloud.tokens.ready is None and cloud.tokens() == "token-1" == cloud.tokens.ready
    cloud.now += 3600 - 201
    assert cloud.tokens() == "token-1"
    cloud.now += 2
    assert cloud.tokens.ready is None and cloud.tokens() == "token-2" and cloud.asked == [False, False]


def test_a_short_token_is_not_fetched_for_each_request() -> None:
    cloud = Cloud()
    cloud.lasting = 60
    assert cloud.tokens() == cloud.tokens() == "token-1"
    cloud.now += 49
    assert cloud.tokens() == "token-2"


def test_requests_at_the_same_time_wait_for_one_fetch() -> None:
    cloud, started, go_on = Cloud(), threading.Event(), threading.Event()

    def slow() -> str:
        started.set()
        assert go_on.wait(10)
        return "token-1"

    cloud.name, found = slow, list[str]()
    threads = [threading.Thread(target=lambda: found.append(cloud.tokens())) for _ in range(20)]
    for each in threads:
        each.start()
    assert started.wait(10)
    go_on.set()
    for each in threads:
        each.join(10)
    assert found == ["token-1"] * 20 and len(cloud.asked) == 1


def test_while_one_request_renews_a_token_the_others_use_the_old_one() -> None:
    cloud, started, go_on = Cloud(), threading.Event(), threading.Event()
    assert cloud.tokens() == "token-1"

    def slow() -> str:
        started.set()
        assert go_on.wait(10)
        return "token-2"

    cloud.name = slow
    cloud.now += 3500
    thread = threading.Thread(target=cloud.tokens)
    thread.start()
    assert started.wait(10) and cloud.tokens() == "token-1"
    cloud.now += 80  # too late for the old one
    assert cloud.tokens.ready is None
    go_on.set()
    thread.join(10)
    assert cloud.tokens() == "token-2"


def test_a_cloud_that_fails_is_asked_again_after_a_while_and_the_old_token_used_as_long_as_it_is_valid() -> None:
    cloud = Cloud()
    cloud.tokens()
    cloud.error = RuntimeError("no")
    cloud.now += 3450
    assert [cloud.tokens(), cloud.tokens(), len(cloud.asked)] == ["token-1", "token-1", 2]
    cloud.now += 11
    assert [cloud.tokens(), len(cloud.asked)] == ["token-1", 3]
    cloud.now += 130
    for _ in range(3):
        with pytest.raises(ul.AuthenticationError, match="RuntimeError: no"):
            cloud.tokens()
    assert len(cloud.asked) == 4
    cloud.error = None
    cloud.now += 11
    assert cloud.tokens() == "token-5"


def test_a_refused_token_is_renewed_once_for_all_that_were_refused_with_it() -> None:
    cloud = Cloud()
    cloud.tokens()
    refused = [cloud.tokens.another(lambda token: token == "token-1") for _ in range(3)]
    assert refused == ["token-2"] * 3 and cloud.asked == [False, True]
    assert cloud.tokens() == "token-2"


def test_a_server_that_refuses_every_token_does_not_have_one_fetched_for_each_request() -> None:
    cloud = Cloud()
    cloud.tokens()
    answers = [cloud.tokens.another(lambda token: True) for _ in range(5)]
    assert answers == [None] * 5 and len(cloud.asked) == 2
    cloud.now += 31
    assert cloud.tokens.another(lambda token: token == "token-2") == "token-3"


def test_a_refused_token_and_a_cloud_that_fails() -> None:
    cloud = Cloud()
    cloud.tokens()
    cloud.error = RuntimeError("no")
    assert cloud.tokens.another(lambda token: token == "token-1") is None


class TransportError(Exception):
    """Named like the one of google-auth."""


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (TransportError("host is down"), httpx2.ConnectError),
        (ConnectionResetError("reset"), httpx2.ConnectError),
        (ValueError("invalid_grant"), ul.AuthenticationError),
        (FileNotFoundError("no such file"), ul.AuthenticationError),
    ],
)
def test_what_another_attempt_may_repair_is_a_failed_connection(error: Exception, expected: type[Exception]) -> None:
    cloud = Cloud()
    cloud.error = error
    with pytest.raises(expected, match=f"no credentials of login 'cloud': {type(error).__name__}: {error}") as caught:
        cloud.tokens()
    assert caught.value.__cause__ is None and caught.value.__context__ is None


@pytest.mark.parametrize("text", [CANARY, f"refused: {CANARY} is wrong", f"first line\n{CANARY}", f"({CANARY})"])
def test_no_error_shows_a_credential(text: str) -> None:
    cloud = Cloud()
    cloud.error = RuntimeError(text)
    with pytest.raises(ul.AuthenticationError) as caught:
        cloud.tokens()
    assert_clean(caught.value)
    assert "RuntimeError" in str(unavailable("cloud", RuntimeError(text)))


def test_tokens_are_not_shown_and_not_copied() -> None:
    cloud = Cloud()
    cloud.tokens()
    assert "token-1" not in repr(cloud.tokens)
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(cloud.tokens)


def test_an_error_of_the_library_itself_passes() -> None:
    def source(audience: str, renew: bool) -> Any:
        raise ul.MissingExtra("a cloud", "cloud")

    with pytest.raises(ul.MissingExtra):
        Tokens(source)()
