"""The clouds in front of the protocols: their hosts, paths, versions and logins, and nothing that they do not take.

A request that the platform takes goes on to the plain service, in the vendor's own form; the service checks the rest.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
import struct
import zlib
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

from oracles.mounts import Oracle, close
from oracles.refusal import Refused
from oracles.service import Reply, Seen

PROJECT = r"/v1/projects/(?P<project>[^/]+)/locations/(?P<location>[^/]+)"
CLAUDE = re.compile(PROJECT + r"/publishers/anthropic/models/(?P<model>[^/:]+):(?P<verb>rawPredict|streamRawPredict)")
GEMINI = re.compile(
    PROJECT + r"/publishers/google/models/[^/:]+:(generateContent|streamGenerateContent|countTokens)", re.ASCII
)
CLASSIC = re.compile(r"/openai/deployments/(?P<model>[^/]+)/(?P<rest>chat/completions)")
BEDROCK = re.compile(r"(?P<service>bedrock-runtime)\.(?P<region>[a-z0-9-]+)\.amazonaws\.com")
INVOKE = re.compile(r"/model/(?P<model>[^/]+)/(?P<verb>invoke|invoke-with-response-stream)")
SIGNATURE = re.compile(
    r"AWS4-HMAC-SHA256 Credential=(?P<account>\w+)/(?P<scope>[^,]+), SignedHeaders=(?P<names>[a-z0-9;-]+), "
    r"Signature=(?P<signature>[0-9a-f]{64})"
)
DATE = re.compile(r"api-version=\d{4}-\d{2}-\d{2}(-preview)?")


class Platforms(Oracle):
    """All of them at once; `bearers` and `key` are what they take, `accounts` access keys and their secrets.

    `raises` is the error in the middle of the next event stream.
    """

    def __init__(self, *bearers: str, key: str = "", accounts: Mapping[str, str] | None = None) -> None:
        super().__init__()
        self.bearers, self.key, self.accounts = {*bearers}, key, dict(accounts or {})
        self.raises: tuple[str, str] | None = None
        self.refused: list[Seen] = []

    def handle(self, method: str, path: str, query: str, headers: Mapping[str, str], body: bytes) -> Reply:
        named = {name.lower(): value for name, value in headers.items()}
        host = named.get("host", "")
        try:
            if host.endswith("aiplatform.googleapis.com"):
                self._login(named, key=None)
                path, body = _vertex(host, path, body, named)
            elif host.endswith(".openai.azure.com"):
                self._login(named, key="api-key")
                path, body = _azure(path, query, body)
            elif found := BEDROCK.fullmatch(host):
                if headers_of_signature(named):
                    self._signed(method, path, query, named, body, found)
                else:
                    self._login(named, key=None)
                return self._bedrock(method, path, named, body)
            else:
                raise Refused(f"no platform at {host}", status=404)
        except Refused as error:
            self.refused.append(Seen(method, path, named, None, host, error.status))
            said = json.dumps({"error": {"code": error.status, "message": error.message, "status": "UNAUTHENTICATED"}})
            kind = {"x-amzn-errortype": error.code} if error.code else {}
            head = {"content-type": "application/json", **kind}
            return Reply(error.status, head, (each for each in [said.encode()]))
        return super().handle(method, path, query, named, body)

    def _login(self, headers: Mapping[str, str], key: str | None) -> None:
        """Exactly one login, and a valid one."""
        given = [name for name in ("authorization", "api-key", "x-api-key", "x-goog-api-key") if name in headers]
        if len(given) != 1:
            raise Refused(f"logins: {given}", status=401)
        scheme, _, token = headers.get("authorization", "").partition(" ")
        if given == ["authorization"] and scheme == "Bearer" and token in self.bearers:
            return
        if key is not None and given == [key] and headers[key] == self.key != "":
            return
        raise Refused(f"the credential {headers[given[0]]} is not valid", status=401)

    def _signed(
        self, method: str, path: str, query: str, headers: Mapping[str, str], body: bytes, host: re.Match[str]
    ) -> None:
        """Check Signature Version 4 by its specification."""
        given = SIGNATURE.fullmatch(headers["authorization"])
        if given is None:
            raise Refused("IncompleteSignatureException", status=403, code="IncompleteSignatureException")
        account, date, names = given["account"], headers.get("x-amz-date", ""), given["names"].split(";")
        secret = self.accounts.get(account)
        if secret is None or headers.get("x-amz-security-token") not in (None, f"session-of-{account}"):
            raise Refused(f"The security token of {account} is expired", status=403, code="ExpiredTokenException")
        scope = f"{date[:8]}/{host['region']}/{host['service'].replace('-runtime', '')}/aws4_request"
        lines = "".join(f"{name}:{headers[name].strip()}\n" for name in names)
        hashed = hashlib.sha256(body).hexdigest()
        asked = "\n".join(
            [method, quote(quote(path, safe="/-_.~"), safe="/-_.~"), query, lines, ";".join(names), hashed]
        )
        text = "\n".join(["AWS4-HMAC-SHA256", date, scope, hashlib.sha256(asked.encode()).hexdigest()])
        key = f"AWS4{secret}".encode()
        for each in scope.split("/"):
            key = hmac.new(key, each.encode(), hashlib.sha256).digest()
        good = hmac.new(key, text.encode(), hashlib.sha256).hexdigest()
        if given["scope"] != scope or given["signature"] != good or not {"host", "x-amz-date"} <= {*names}:
            raise Refused("InvalidSignatureException", status=403, code="InvalidSignatureException")

    def _bedrock(self, method: str, path: str, headers: dict[str, str], body: bytes) -> Reply:
        found = INVOKE.fullmatch(path)
        if found is None or method != "POST":
            raise Refused("UnknownOperationException", status=404)
        said: dict[str, Any] = json.loads(body)
        if said.pop("anthropic_version", None) != "bedrock-2023-05-31":
            raise Refused("anthropic_version: Field required")
        if {"model", "stream"} & said.keys() or "anthropic-beta" in headers:
            raise Refused("extraneous key is not permitted")
        if betas := said.pop("anthropic_beta", None):
            if not isinstance(betas, list):
                raise Refused("anthropic_beta: Input should be a valid list")
            headers["anthropic-beta"] = ",".join(betas)
        streams = found["verb"] == "invoke-with-response-stream"
        headers["anthropic-version"] = "2023-06-01"
        plain = json.dumps({**said, "model": found["model"], **({"stream": True} if streams else {})}).encode()
        reply = super().handle("POST", "/v1/messages", "", headers, plain)
        if streams and reply.status == 200:
            raises, self.raises = self.raises, None
            return Reply(200, {"content-type": "application/vnd.amazon.eventstream"}, _framed(reply, raises))
        return reply


def headers_of_signature(headers: Mapping[str, str]) -> bool:
    """Whether a request is signed, instead of holding a key."""
    return headers.get("authorization", "").startswith("AWS4-HMAC-SHA256 ")


def _framed(reply: Reply, raises: tuple[str, str] | None) -> Iterator[bytes | float]:
    """A stream of server-sent events as an event stream."""
    try:
        for place, chunk in enumerate(reply.body):
            if isinstance(chunk, float):
                yield chunk
                continue
            if raises is not None and place == 2:
                data = json.dumps({"message": raises[1]}).encode()
                yield frame({":message-type": "exception", ":exception-type": raises[0]}, data)
                return
            for line in chunk.decode().splitlines():
                if line.startswith("data: "):
                    data = json.dumps({"bytes": base64.b64encode(line[6:].encode()).decode(), "p": "abc"}).encode()
                    yield frame({":message-type": "event", ":event-type": "chunk"}, data)
    finally:
        close(reply)


def frame(headers: Mapping[str, str], payload: bytes) -> bytes:
    """One frame: https://docs.aws.amazon.com/AmazonS3/latest/API/RESTSelectObjectAppendix.html"""
    named = b"".join(
        bytes([len(name)]) + name.encode() + b"\x07" + struct.pack(">H", len(value)) + value.encode()
        for name, value in headers.items()
    )
    prelude = struct.pack(">II", 16 + len(named) + len(payload), len(named))
    data = prelude + struct.pack(">I", zlib.crc32(prelude)) + named + payload
    return data + struct.pack(">I", zlib.crc32(data))


def _vertex(host: str, path: str, body: bytes, headers: dict[str, str]) -> tuple[str, bytes]:
    found = CLAUDE.fullmatch(path)
    if found is None and GEMINI.fullmatch(path) is None:
        raise Refused(f"no route {path}", status=404)
    location = (found or GEMINI.fullmatch(path) or re.match("", ""))["location"]  # type: ignore[index]
    if host != ("aiplatform.googleapis.com" if location == "global" else f"{location}-aiplatform.googleapis.com"):
        raise Refused(f"{location} is not at {host}", status=404)
    if found is None:
        return path, body
    said: dict[str, Any] = json.loads(body)
    if said.pop("anthropic_version", None) != "vertex-2023-10-16":
        raise Refused("anthropic_version: Field required")
    if "model" in said:
        raise Refused("model: Extra inputs are not permitted")
    if (said.get("stream") is True) != (found["verb"] == "streamRawPredict"):
        raise Refused("stream and the verb contradict each other")
    headers["anthropic-version"] = "2023-06-01"
    return "/v1/messages", json.dumps({**said, "model": found["model"]}).encode()


def _azure(path: str, query: str, body: bytes) -> tuple[str, bytes]:
    if path in ("/openai/v1/chat/completions", "/openai/v1/responses"):
        return path.removeprefix("/openai"), body
    found = CLASSIC.fullmatch(path)
    if found is None or DATE.fullmatch(query) is None:
        raise Refused("Resource not found", status=404)
    return f"/v1/{found['rest']}", body
