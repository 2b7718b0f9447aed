"""Documents of the made protocols: ordinary ones, and ones with everything odd that was met in recorded traffic."""

from __future__ import annotations

from typing import Any

__all__ = ["DOCUMENTS"]

Node = dict[str, Any]

DOCUMENTS: dict[str, list[Node]] = {
    "blocks request": [
        {"messages": []},
        {"messages": [], "output": {"kind": "plain"}, "max_tokens": 1},
        {
            "model": "m",
            "limit": 5,
            "choice": {"type": "tool", "name": "f", "serial": True},
            "thinking": {"type": "on", "budget": 3},
            "stop": "END",
            "object": "request",
            "output": {"effort": "low", "kind": "plain", "format": {"schema": {"type": "object"}}},
            "meta": {"user": None},
            "temperature": 0.5,
            "stream": False,
            "tier": "standard",
            "tools": [
                {"name": "f", "schema": {"a": [1]}},
                {"type": "custom", "name": "g", "schema": {}},
                {"type": "search_2025", "most": 2},
                {"type": "search_2026"},
                {"type": "search_2024", "most": 1},
            ],
            "messages": [
                {"role": "user", "content": "Hi"},
                {
                    "role": "user",
                    "content": [
                        {"type": "text", "text": "look", "cache": {"type": "ephemeral", "ttl": "1h"}},
                        {"type": "image", "source": {"type": "url", "url": "https://a.b"}},
                        {"type": "image", "source": {"type": "link", "href": "https://a.b", "zz": 1}},
                        {"type": "file", "from": {"type": "list", "list": [{"type": "note", "note": "n"}, 1], "q": 1}},
                        {"type": "file", "from": {"type": "plain", "plain": "p"}},
                        {"type": "file", "from": {"type": "plain", "media": "text/plain", "plain": "p"}},
                        {"type": "file", "from": {"type": "plain", "media": "text/html", "plain": "p"}},
                        {"type": "file", "from": {"type": "reel", "tape": "u"}},
                        {"type": "clip", "fit": "large", "url": "u"},
                        {"type": "clip", "fit": "big", "url": "u"},
                        {"type": "clip", "fit": "huge", "url": "u"},
                    ],
                },
                {
                    "role": "assistant",
                    "content": [
                        {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
                        {"type": "redacted", "data": "eHh4"},
                        {"type": "text", "text": "yes"},
                        {"type": "text", "text": "no"},
                        {"type": "use", "id": "1", "name": "f", "input": {"a": 1}, "caller": {"type": "direct"}},
                        {
                            "type": "use",
                            "id": "3",
                            "name": "f",
                            "input": {},
                            "caller": {"type": "program_1", "id": "s"},
                        },
                        {
                            "type": "use",
                            "id": "4",
                            "name": "f",
                            "input": {},
                            "caller": {"type": "program_2", "id": "s"},
                        },
                        {"type": "use", "id": "5", "name": "f", "input": {}, "caller": {"type": "robot", "id": "s"}},
                        {"type": "hosted", "name": "search", "input": {"query": "q"}},
                        {"type": "hosted", "name": "code", "input": {"code": "1"}},
                    ],
                },
                {
                    "role": "user",
                    "content": [
                        {"type": "result", "id": "1", "content": "ok"},
                        {"type": "result", "id": "2", "content": [{"type": "text", "text": "a"}]},
                        {"type": "text", "text": "go on"},
                    ],
                },
            ],
        },
        {
            "messages": [
                {"role": "user", "content": []},
                {"role": "user", "content": [{"type": "video", "x": 1}, 3, None, {"type": "use"}]},
                {"role": "robot", "content": "?"},
                5,
                {"role": "assistant", "content": 7},
                {"role": "assistant", "content": [{"type": "thinking", "thinking": "a", "signature": ""}], "id": "m1"},
            ],
            "max_tokens": "many",
            "stop": ["a", "b"],
            "thinking": {},
            "output": None,
            "choice": {"type": "auto"},
            "tier": "gold",
            "fallbacks": [1],
            "tools": [],
            "meta": {},
            "object": "other",
            "x": {"y": {"z": 0}},
            "model": None,
            "grammar": "g",
        },
        {"messages": [], "include": []},
        {"messages": [], "include": ["a"]},
    ],
    "blocks response": [
        {
            "id": "r",
            "type": "message",
            "role": "assistant",
            "content": [{"type": "text", "text": "Hi"}, {"type": "use", "id": "1", "name": "f", "input": {}}],
            "stop": "end",
            "usage": {"in": 3, "cached": 2},
        },
        {"type": "message", "content": [], "stop": None, "usage": {"in": 1, "more": 2}, "role": "tool"},
        {"type": "message", "content": [], "stop": "done", "usage": {"in": 1, "cached": True}},
    ],
    "slots request": [
        {"messages": [], "model": "m"},
        {
            "model": "m",
            "seed": 7,
            "max_tokens": 9,
            "temperature": 1,
            "user": "u",
            "effort": "high",
            "stop": ["x"],
            "stream": True,
            "tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}],
            "messages": [
                {"role": "system", "content": "be"},
                {"role": "user", "content": [{"type": "text", "text": "a"}], "name": "n"},
                {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "u", "detail": None}}]},
                {
                    "role": "assistant",
                    "reasoning": "hm",
                    "content": "Hi",
                    "tool_calls": [
                        {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}},
                        {"id": "2", "type": "custom", "custom": {"name": "g", "input": "x"}},
                    ],
                },
                {"role": "tool", "id": "1", "content": "ok"},
                {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [{"id": "3", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
                },
                {"role": "assistant", "content": "", "refusal": "no", "name": "bot"},
                {"role": "assistant", "content": ""},
            ],
        },
        {
            "messages": [
                {"role": "assistant"},
                {"role": "assistant", "content": 5, "tool_calls": {}, "audio": {"id": 1}},
                {"role": "assistant", "content": "a", "tool_calls": [], "refusal": None, "zz": 1},
                {"role": "assistant", "tool_calls": [{"id": "1", "type": "other"}, None]},
                {"role": "tool", "content": "no id"},
                {"role": "user"},
            ],
            "user": None,
            "tools": None,
            "seed": True,
        },
    ],
    "slots response": [
        {
            "id": "r",
            "object": "completion",
            "choices": [{"index": 0, "message": {"role": "assistant", "content": "a"}, "why": "stop"}],
        },
        {
            "choices": [
                {"index": 0, "message": {"role": "assistant", "content": "a"}, "why": "calls", "zz": 1},
                {"index": 1, "message": {"role": "assistant", "content": None, "refusal": "no"}, "why": None, "yy": 1},
            ]
        },
        {"choices": [{"message": {"role": "assistant", "content": [{"type": "text", "text": "t"}]}}]},
        {"choices": []},
        {"choices": [{"index": 3, "message": {"role": "assistant", "content": "a"}}], "object": "x"},
    ],
    "oneof request": [
        {
            "parts": [
                {"text": "a"},
                {"thought": True, "text": "hm", "sign": "c2ln"},
                {"thought": False, "text": "b"},
                {"call": {"name": "f", "args": {"a": 1}}},
                {"call": {"name": "f", "zz": 1}, "zz": 2},
                {"data": {"data": "QQ=="}},
                {"other": 1},
            ],
            "config": {"topP": 0.5, "thinking": {"level": "low", "budget": 1}, "mode": "A"},
            "tools": {"fn": {"name": "f", "schema": {}}},
            "first": {"fn": {"name": "g"}},
        },
        {
            "parts": {"text": "a", "q": 1},
            "config": {"thinking": {}, "mode": "B"},
            "tools": [{"fn": {"name": "f"}}],
            "first": {"no": 1},
        },
        {"parts": [], "config": {"topP": "x"}, "tools": {}},
    ],
}
