"""Bodies of errors, as five protocols spell them."""

from __future__ import annotations

from typing import Any

Node = dict[str, Any]


def openai_body(type_: str, code: str | None = None, message: str = "m") -> Node:
    return {"error": {"message": message, "type": type_, "param": None, "code": code}}


def messages_body(type_: str, message: str = "m") -> Node:
    return {"type": "error", "error": {"type": type_, "message": message}}


def google_body(code: int, status: str, message: str = "m", *details: Node) -> Node:
    error = {"code": code, "message": message, "status": status, "details": [*details]}
    return {"error": error if details else {key: value for key, value in error.items() if key != "details"}}


def interaction_body(code: str, message: str = "m") -> Node:
    return {"error": {"code": code, "message": message}}


RETRY = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.4s"}
