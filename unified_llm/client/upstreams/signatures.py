"""Requests that are signed instead of holding a key: AWS Signature Version 4, by botocore.

https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv.html
"""

from __future__ import annotations

import json
import time
from collections.abc import AsyncGenerator, Generator, Mapping
from itertools import pairwise
from typing import Any

import httpx2

from ...foundation.usage_errors import InvalidArgument
from .loading import loaded
from .references import taken_apart
from .tokens import Tokens

__all__ = ["Signature", "credentials", "service_of"]

_KEPT = 300.0  # seconds until botocore is called again, which renews its credentials ten minutes before their end
_LARGE = 1 << 18  # bytes of a body that is hashed outside of the event loop
_SIGNED = frozenset(("content-type",))  # with the host; proxies may change others
_REFUSED = frozenset((401, 403))
_EXPIRED = ("ExpiredToken", "UnrecognizedClient", "InvalidClientTokenId")  # of the header x-amzn-errortype


class Signature(httpx2.Auth):
    """Signs each request for a service in a region; `tokens` are the credentials (those of `credentials`).

    A request that is refused because they have expired is sent once more with new ones.
    """

    one_time: frozenset[str] = frozenset(("authorization", "x-amz-date"))
    """Headers that are of no use for another request."""

    def __init__(self, tokens: Tokens, service: str, region: str) -> None:
        self._tokens = tokens
        self.service: str = service
        self.region: str = region

    def __repr__(self) -> str:
        return f"Signature({self.service!r}, {self.region!r})"

    def __reduce__(self) -> Any:
        raise TypeError("credentials cannot be pickled; create the Upstream in the other process")

    def sync_auth_flow(self, request: httpx2.Request) -> Generator[httpx2.Request, httpx2.Response, None]:
        """Sign the request, with newer credentials once more after a refusal (httpx2, blocking clients)."""
        request.read()
        used = self._tokens()
        self.sign(request, used)
        response = yield request
        if _is_expired(response):
            other = self._tokens.another(lambda each: each == used)
            if other is not None:
                self.sign(request, other)
                yield request

    async def async_auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """Sign the request, with newer credentials once more after a refusal (httpx2, event loops)."""
        import anyio.to_thread

        content = await request.aread()
        ready = self._tokens.ready
        used = ready if ready is not None else await anyio.to_thread.run_sync(self._tokens)
        if len(content) > _LARGE:
            await anyio.to_thread.run_sync(self.sign, request, used)
        else:
            self.sign(request, used)
        response = yield request
        if _is_expired(response):
            other = await anyio.to_thread.run_sync(self._tokens.another, lambda each: each == used)
            if other is not None:
                self.sign(request, other)
                yield request

    def sign(self, request: httpx2.Request, given: str) -> None:
        """Set the headers of the signature."""
        headers = {name: value for name, value in request.headers.items() if name in _SIGNED}
        url = str(request.url)
        signed = loaded("botocore.awsrequest:AWSRequest")(request.method, url, headers, request.content)
        account = loaded("botocore.credentials:Credentials")(*json.loads(given))
        loaded("botocore.auth:SigV4Auth")(account, self.service, self.region).add_auth(signed)
        for name, value in signed.headers.items():
            if name.lower() not in _SIGNED:
                request.headers[name] = value


def _is_expired(response: httpx2.Response) -> bool:
    kind = response.headers.get("x-amzn-errortype", "")
    return response.status_code in _REFUSED and kind.startswith(_EXPIRED)


_kept: list[Any] = []


def credentials(audience: str, renew: bool) -> tuple[str, float]:
    """The credentials that botocore finds, as JSON, and the time until which they are kept.

    Raises `LookupError` where it finds none, and botocore's own errors.
    """
    if renew or not _kept:
        _kept[:] = [loaded("botocore.session:get_session")()]
    found = _kept[0].get_credentials()
    if found is None:
        raise LookupError("neither the environment nor a configuration file nor this machine has any")
    frozen = found.get_frozen_credentials()
    return json.dumps([frozen.access_key, frozen.secret_key, frozen.token]), time.time() + _KEPT


def service_of(base_url: str, audience: str, hosts: Mapping[str, str]) -> tuple[str, str]:
    """The service and the region that requests are signed for: `audience`, else those of the host.

    `hosts` are the labels that stand before the region, and the services that they are signed for.

    >>> service_of("https://vpce-1.runtime.eu-west-1.vpce.example/v1", "", {"runtime": "service"})
    ('service', 'eu-west-1')

    Raises `InvalidArgument`.
    """
    service, slash, region = audience.partition("/")
    if slash and service and region:
        return service, region
    labels = taken_apart(base_url).host.split(".")
    for label, after in pairwise(labels):
        if label in hosts and not audience:
            return hosts[label], after
    raise InvalidArgument("audience: the URL has no service and region; set audience to 'SERVICE/REGION'")
