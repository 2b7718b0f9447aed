"""Which path is which protocol's, and what there is beside creating: checks, counts, lists of models.

Paths are known by their ends, so that any prefix (a version, a project, a gateway's own) is taken.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from oracles import (
    anthropic_messages,
    google_generate_content,
    google_interactions,
    openai_responses,
    strict_anthropic_messages,
    strict_google_generate_content,
    strict_google_interactions,
    strict_openai_chat,
    strict_openai_responses,
)  # fmt: skip
from oracles.refusal import Refused
from oracles.shapes import Node
from oracles.stamp import size

MODEL = r"models/(?P<model>[^:]+)"
ROUTES = [
    ("POST", r"chat/completions", "openai-chat", "create"),
    ("POST", r"responses", "openai-responses", "create"),
    ("POST", r"responses/input_tokens", "openai-responses", "count"),
    ("GET", r"responses/(?P<id>[^/]+)", "openai-responses", "retrieve"),
    ("DELETE", r"responses/(?P<id>[^/]+)", "openai-responses", "delete"),
    ("POST", r"responses/(?P<id>[^/]+)/cancel", "openai-responses", "cancel"),
    ("GET", r"responses/(?P<id>[^/]+)/input_items", "openai-responses", "input_items"),
    ("POST", r"messages", "anthropic-messages", "create"),
    ("POST", r"messages/count_tokens", "anthropic-messages", "count"),
    ("POST", MODEL + ":generateContent", "google-generate-content", "create"),
    ("POST", MODEL + ":streamGenerateContent", "google-generate-content", "stream"),
    ("POST", MODEL + ":countTokens", "google-generate-content", "count"),
    ("POST", r"interactions", "google-interactions", "create"),
    ("GET", r"interactions/(?P<id>[^/]+)", "google-interactions", "retrieve"),
    ("DELETE", r"interactions/(?P<id>[^/]+)", "google-interactions", "delete"),
    ("POST", r"interactions/(?P<id>[^/]+)/cancel", "google-interactions", "cancel"),
    ("GET", r"models", "", "models"),
    ("GET", r"models/(?P<id>[^:]+)", "", "models"),
    ("GET", r"", "", "alive"),
    ("HEAD", r"", "", "alive"),
]
PATTERNS = [(method, re.compile(f"(?:.*/)?{pattern}/?"), protocol, name) for method, pattern, protocol, name in ROUTES]
NAMES = ("echo", "echo-mini")
"""The models in the lists; a request may name any other as well."""


def find(method: str, path: str) -> tuple[str, dict[str, str]]:
    """The handler's name and the names in the path; 404 and 405 otherwise."""
    known = [(m, found, name) for m, pattern, _, name in PATTERNS if (found := pattern.fullmatch(path)) is not None]
    for its, found, name in known:
        if its == method:
            return name, found.groupdict()
    raise Refused(
        f"Invalid URL ({method} {path})", status=405 if known else 404, code="unknown_url" if not known else None
    )


def protocol_of(path: str, headers: Mapping[str, str]) -> str:
    """The protocol of a path; where several share it, the headers decide."""
    for _, pattern, protocol, _ in PATTERNS:
        if protocol and pattern.fullmatch(path):
            return protocol
    if "anthropic-version" in headers:
        return "anthropic-messages"
    if "x-goog-api-key" in headers or "x-goog-api-client" in headers or "/v1beta" in path:
        return "google-generate-content"
    return "openai-responses"


def check(protocol: str, body: Any, headers: Mapping[str, str], model: str, earlier: Sequence[Node] | None,
          strangers: bool) -> None:  # fmt: skip
    """Refuse what the provider would refuse."""
    if protocol == "openai-chat":
        strict_openai_chat.check(body, strangers)
    elif protocol == "openai-responses":
        strict_openai_responses.check(body, strangers, seal=openai_responses.SEAL, earlier=earlier)
    elif protocol == "anthropic-messages":
        version, betas = _versions(headers)
        strict_anthropic_messages.check(body, seal=anthropic_messages.SEAL, version=version, betas=betas)
    elif protocol == "google-generate-content":
        strict_google_generate_content.check(body, model, seal=google_generate_content.SEAL)
    else:
        strict_google_interactions.check(body, seal=google_interactions.SEAL, earlier=earlier)


def _versions(headers: Mapping[str, str]) -> tuple[str, list[str]]:
    if "anthropic-version" not in headers:
        raise Refused("anthropic-version: header is required")
    if not re.fullmatch(r"\d{4}-\d\d-\d\d", headers["anthropic-version"]):
        raise Refused(f"anthropic-version: {headers['anthropic-version']!r} is not a valid version")
    return headers["anthropic-version"], [each.strip() for each in headers.get("anthropic-beta", "").split(",")]


def counted(protocol: str, body: Any, headers: Mapping[str, str], model: str) -> Node:
    """How many tokens a request is."""
    if protocol == "anthropic-messages":
        version, betas = _versions(headers)
        strict_anthropic_messages.check(body, seal=anthropic_messages.SEAL, version=version, counting=True, betas=betas)
        return {"input_tokens": size(body)}
    if protocol == "google-generate-content":
        if not isinstance(body, dict) or ("contents" in body) == ("generateContentRequest" in body):
            raise Refused("Exactly one of contents and generate_content_request must be set.")
        whole = body.get("generateContentRequest", body)
        whole = {key: value for key, value in whole.items() if key != "model"}
        strict_google_generate_content.check(whole, model, seal=google_generate_content.SEAL)
        return {"totalTokens": size(whole), "promptTokensDetails": [{"modality": "TEXT", "tokenCount": size(whole)}]}
    strict_openai_responses.check(body, seal=openai_responses.SEAL)
    return {"object": "response.input_tokens", "input_tokens": size(body)}


def models(protocol: str, name: str, now: int) -> Node:
    """One model, or the list of them, in the shape of the surface."""
    if name and name not in NAMES:
        raise Refused(f"The model '{name}' does not exist or you do not have access to it.", status=404)
    if protocol == "anthropic-messages":
        made: list[Node] = [{"type": "model", "id": each, "display_name": each, "created_at": "2023-11-14T22:13:20Z"}
                            for each in NAMES]  # fmt: skip
        page: Node = {"data": made, "has_more": False, "first_id": NAMES[0], "last_id": NAMES[-1]}
    elif protocol == "google-generate-content":
        made = [{"name": f"models/{each}", "displayName": each, "version": "1", "inputTokenLimit": 1_000_000,
                 "outputTokenLimit": 65_536, "supportedGenerationMethods": ["generateContent", "countTokens"]}
                for each in NAMES]  # fmt: skip
        page = {"models": made}
    else:
        made = [{"id": each, "object": "model", "created": now, "owned_by": "oracle"} for each in NAMES]
        page = {"object": "list", "data": made}
    return made[NAMES.index(name)] if name else page
