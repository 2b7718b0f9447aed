"""The clouds in front of the protocols: their hosts, paths, versions and logins, and nothing that they do not take.

A request that the platform takes goes on to the plain service, in the vendor's own form; the service checks the rest.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from oracles.mounts import Oracle
from oracles.refusal import Refused
from oracles.service import Reply, Seen

PROJECT = r"/v1/projects/(?P<project>[^/]+)/locations/(?P<location>[^/]+)"
CLAUDE = re.compile(PROJECT + r"/publishers/anthropic/models/(?P<model>[^/:]+):(?P<verb>rawPredict|streamRawPredict)")
GEMINI = re.compile(
    PROJECT + r"/publishers/google/models/[^/:]+:(generateContent|streamGenerateContent|countTokens)", re.ASCII
)
CLASSIC = re.compile(r"/openai/deployments/(?P<model>[^/]+)/(?P<rest>chat/completions)")
DATE = re.compile(r"api-version=\d{4}-\d{2}-\d{2}(-preview)?")


class Platforms(Oracle):
    """All of them at once; `valid` are the tokens and keys that are taken, by header."""

    def __init__(self, *bearers: str, key: str = "") -> None:
        super().__init__()
        self.bearers, self.key = {*bearers}, key
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
            else:
                raise Refused(f"no platform at {host}", status=404)
        except Refused as error:
            self.refused.append(Seen(method, path, named, None, host, error.status))
            said = json.dumps({"error": {"code": error.status, "message": error.message, "status": "UNAUTHENTICATED"}})
            return Reply(error.status, {"content-type": "application/json"}, (each for each in [said.encode()]))
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
