"""The official SDKs as their users use them: five surfaces, each a conversation with turns.

A surface keeps its history as that SDK's users do: by appending what came. `call` is synchronous, `acall` is not, and
both may stream; what the SDK gave is folded to the answer, whose text and calls `Said` holds.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple

import anthropic
import openai
from google import genai

from folds import FOLDS

Node = dict[str, Any]
PARAMETERS: Node = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
NAME = "get_weather"


class SDKCall(NamedTuple):
    id: str
    name: str
    arguments: Any


class Said(NamedTuple):
    """The content of an answer; `answer` is the wire document as the SDK has it, `model` the model's name in it."""

    text: str
    calls: list[SDKCall]
    model: str | None
    answer: Node


def plain(value: Any) -> Any:
    """An SDK's object as JSON, what it does not declare included."""
    return value.model_dump(mode="json", by_alias=True, exclude_unset=True, warnings=False)


def _is_address(data: str) -> bool:
    return data.startswith("https:")


def _address(mime: str, data: str) -> str:
    return data if _is_address(data) else f"data:{mime};base64,{data}"


class Surface:
    """One conversation over one SDK. `http` and `ahttp` are what lies below it."""

    protocol: str
    alias = "my-alias"

    def __init__(self, http: Any, ahttp: Any = None, **options: Any) -> None:
        self.http, self.ahttp, self.options = http, ahttp, options
        self.history: list[Node] = []
        self.events: list[Node] = []  # of the last answer, where it was a stream
        self.settings: Node = {}
        self.limit = 4000

    def ask(self, text: str) -> None:
        """Append what a user says."""
        self.history.append(self.user(text))

    def show(self, text: str, mime: str, data: str) -> None:
        """Append what a user says about an image, which is base64 or an address."""
        self.history.append(self.pictured(text, mime, data))

    def want(self, schema: Node) -> None:
        """Request answers in JSON of this schema from now on."""
        self.settings = self.formatted(schema)

    def asked(self, stream: bool) -> Node:
        """The arguments of a call, `settings` included."""
        found = self.arguments(stream)
        for key, value in self.settings.items():
            found[key] = {**found[key], **value} if key in found else value
        return found

    def call(self, stream: bool = False, **more: Any) -> Said:
        found = self.method(False)(**self.asked(stream), **more)
        return self.take([plain(each) for each in found] if stream else plain(found))

    async def acall(self, stream: bool = False, **more: Any) -> Said:
        found = await self.method(True)(**self.asked(stream), **more)
        return self.take([plain(each) async for each in found] if stream else plain(found))

    def take(self, found: Any) -> Said:
        """Fold and keep an answer."""
        answer = found
        self.events = found if isinstance(found, list) else []
        if isinstance(found, list):
            answer = FOLDS[self.protocol]([{"event": None, "data": each} for each in found])
        said = self.said(answer)
        return said._replace(model=said.model or self.named(found))

    def named(self, found: Any) -> str | None:
        """The model that a stream names in its events."""
        models = {self.model_of(each) for each in found} - {None} if isinstance(found, list) else set()
        assert len(models) <= 1, f"one answer, several models: {models}"
        return next(iter(models), None)

    def model_of(self, event: Node) -> str | None:
        return event.get("model")

    # What the SDKs differ in.

    def user(self, text: str) -> Node:
        raise NotImplementedError

    def pictured(self, text: str, mime: str, data: str) -> Node:
        raise NotImplementedError

    def formatted(self, schema: Node) -> Node:
        raise NotImplementedError

    def give(self, call: SDKCall, result: str) -> None:
        raise NotImplementedError

    def client(self, async_: bool) -> Any:
        """The SDK's own client."""
        raise NotImplementedError

    def method(self, async_: bool) -> Callable[..., Any]:
        raise NotImplementedError

    def arguments(self, stream: bool) -> Node:
        raise NotImplementedError

    def said(self, answer: Node) -> Said:
        raise NotImplementedError


class Chat(Surface):
    protocol = "openai-chat"

    def user(self, text: str) -> Node:
        return {"role": "user", "content": text}

    def pictured(self, text: str, mime: str, data: str) -> Node:
        picture = {"type": "image_url", "image_url": {"url": _address(mime, data)}}
        return {"role": "user", "content": [picture, {"type": "text", "text": text}]}

    def formatted(self, schema: Node) -> Node:
        named = {"name": "answer", "schema": schema, "strict": True}
        return {"response_format": {"type": "json_schema", "json_schema": named}}

    def client(self, async_: bool) -> Any:
        kind: Any = openai.AsyncOpenAI if async_ else openai.OpenAI
        return kind(api_key="x", http_client=self.ahttp if async_ else self.http, **{"max_retries": 0, **self.options})

    def method(self, async_: bool) -> Callable[..., Any]:
        return self.client(async_).chat.completions.create  # type: ignore[no-any-return]

    def arguments(self, stream: bool) -> Node:
        tool = {"type": "function", "function": {"name": NAME, "parameters": PARAMETERS}}
        return {"model": self.alias, "messages": self.history, "tools": [tool], "stream": stream}

    def said(self, answer: Node) -> Said:
        message = answer["choices"][0]["message"]
        self.history.append({key: value for key, value in message.items() if value is not None and key != "parsed"})
        calls = [
            SDKCall(each["id"], each["function"]["name"], json.loads(each["function"]["arguments"]))
            for each in message.get("tool_calls") or ()
        ]
        return Said(message.get("content") or "", calls, answer.get("model"), answer)

    def give(self, call: SDKCall, result: str) -> None:
        self.history.append({"role": "tool", "tool_call_id": call.id, "content": result})


class Responses(Surface):
    protocol = "openai-responses"

    def user(self, text: str) -> Node:
        return {"role": "user", "content": text}

    def pictured(self, text: str, mime: str, data: str) -> Node:
        picture = {"type": "input_image", "image_url": _address(mime, data), "detail": "auto"}
        return {"role": "user", "content": [picture, {"type": "input_text", "text": text}]}

    def formatted(self, schema: Node) -> Node:
        return {"text": {"format": {"type": "json_schema", "name": "answer", "schema": schema, "strict": True}}}

    def client(self, async_: bool) -> Any:
        kind: Any = openai.AsyncOpenAI if async_ else openai.OpenAI
        return kind(api_key="x", http_client=self.ahttp if async_ else self.http, **{"max_retries": 0, **self.options})

    def method(self, async_: bool) -> Callable[..., Any]:
        return self.client(async_).responses.create  # type: ignore[no-any-return]

    def arguments(self, stream: bool) -> Node:
        tool = {"type": "function", "name": NAME, "parameters": PARAMETERS, "strict": False}
        asked = {"store": False, "include": ["reasoning.encrypted_content"]}
        return {"model": self.alias, "input": self.history, "tools": [tool], "stream": stream, **asked}

    def said(self, answer: Node) -> Said:
        self.history += answer["output"]
        parts = [part for item in answer["output"] if item["type"] == "message" for part in item["content"]]
        calls = [
            SDKCall(item["call_id"], item["name"], json.loads(item["arguments"]))
            for item in answer["output"]
            if item["type"] == "function_call"
        ]
        return Said("".join(part.get("text", "") for part in parts), calls, answer.get("model"), answer)

    def give(self, call: SDKCall, result: str) -> None:
        self.history.append({"type": "function_call_output", "call_id": call.id, "output": result})


class Messages(Surface):
    protocol = "anthropic-messages"

    def user(self, text: str) -> Node:
        return {"role": "user", "content": text}

    def pictured(self, text: str, mime: str, data: str) -> Node:
        source = {"type": "base64", "media_type": mime, "data": data}
        picture = {"type": "image", "source": {"type": "url", "url": data} if _is_address(data) else source}
        return {"role": "user", "content": [picture, {"type": "text", "text": text}]}

    def formatted(self, schema: Node) -> Node:
        return {"output_config": {"format": {"type": "json_schema", "schema": schema}}}

    def client(self, async_: bool) -> Any:
        kind: Any = anthropic.AsyncAnthropic if async_ else anthropic.Anthropic
        return kind(api_key="x", http_client=self.ahttp if async_ else self.http, **{"max_retries": 0, **self.options})

    def method(self, async_: bool) -> Callable[..., Any]:
        return self.client(async_).messages.create  # type: ignore[no-any-return]

    def arguments(self, stream: bool) -> Node:
        tool = {"name": NAME, "input_schema": PARAMETERS}
        asked = {"max_tokens": self.limit, "stream": stream}
        return {"model": self.alias, "messages": self.history, "tools": [tool], **asked}

    def said(self, answer: Node) -> Said:
        content = [{k: v for k, v in block.items() if k != "parsed_output"} for block in answer["content"]]
        self.history.append({"role": "assistant", "content": content})
        calls = [SDKCall(each["id"], each["name"], each["input"]) for each in content if each["type"] == "tool_use"]
        text = "".join(each["text"] for each in content if each["type"] == "text")
        return Said(text, calls, answer.get("model"), answer)

    def give(self, call: SDKCall, result: str) -> None:
        block = {"type": "tool_result", "tool_use_id": call.id, "content": result}
        if self.history[-1]["role"] == "user":
            self.history[-1]["content"].append(block)
        else:
            self.history.append({"role": "user", "content": [block]})


class _Google(Surface):
    def client(self, async_: bool) -> Any:
        options: Any = {"base_url": "http://unused", "retry_options": {"attempts": 1}, **self.options}
        options |= {"httpx_client": self.http, "httpx_async_client": self.ahttp}
        self._kept = genai.Client(api_key="x", http_options={k: v for k, v in options.items() if v is not None})
        return self._kept.aio if async_ else self._kept  # whose connections close with the client


class Contents(_Google):
    protocol = "google-generate-content"

    def user(self, text: str) -> Node:
        return {"role": "user", "parts": [{"text": text}]}

    def pictured(self, text: str, mime: str, data: str) -> Node:
        inside = {"inline_data": {"mime_type": mime, "data": data}}
        outside = {"file_data": {"mime_type": mime, "file_uri": data}}
        return {"role": "user", "parts": [outside if _is_address(data) else inside, {"text": text}]}

    def formatted(self, schema: Node) -> Node:
        return {"config": {"response_mime_type": "application/json", "response_json_schema": schema}}

    def method(self, async_: bool) -> Callable[..., Any]:
        models = self.client(async_).models

        def create(stream: bool, **arguments: Any) -> Any:
            return (models.generate_content_stream if stream else models.generate_content)(**arguments)

        return create

    def arguments(self, stream: bool) -> Node:
        config = {
            "tools": [{"function_declarations": [{"name": NAME, "parameters_json_schema": PARAMETERS}]}],
            "automatic_function_calling": {"disable": True},
            "automatic_continuation": False,
        }
        return {"model": self.alias, "contents": self.history, "config": config, "stream": stream}

    def said(self, answer: Node) -> Said:
        content = answer["candidates"][0]["content"]
        self.history.append(content)
        parts = content.get("parts") or []
        found = [each["functionCall"] for each in parts if each.get("functionCall")]
        calls = [SDKCall(each.get("id") or "", each["name"], each.get("args") or {}) for each in found]
        text = "".join(each.get("text") or "" for each in parts if not each.get("thought"))
        return Said(text, calls, answer.get("modelVersion"), answer)

    def model_of(self, event: Node) -> str | None:
        return event.get("modelVersion")

    def give(self, call: SDKCall, result: str) -> None:
        part: Node = {"function_response": {"name": call.name, "response": {"output": result}}}
        if call.id:
            part["function_response"]["id"] = call.id
        if self.history[-1]["role"] == "user":
            self.history[-1]["parts"].append(part)
        else:
            self.history.append({"role": "user", "parts": [part]})


class Interactions(_Google):
    protocol = "google-interactions"

    def user(self, text: str) -> Node:
        return {"type": "user_input", "content": [{"type": "text", "text": text}]}

    def pictured(self, text: str, mime: str, data: str) -> Node:
        picture = {"type": "image", "mime_type": mime, "uri" if _is_address(data) else "data": data}
        return {"type": "user_input", "content": [picture, {"type": "text", "text": text}]}

    def formatted(self, schema: Node) -> Node:
        return {"response_format": {"type": "text", "mime_type": "application/json", "schema": schema}}

    def method(self, async_: bool) -> Callable[..., Any]:
        return self.client(async_).interactions.create  # type: ignore[no-any-return]

    def arguments(self, stream: bool) -> Node:
        tool = {"type": "function", "name": NAME, "parameters": PARAMETERS}
        asked = {"store": False, "automatic_continuation": False}
        return {"model": self.alias, "input": self.history, "tools": [tool], "stream": stream, **asked}

    def said(self, answer: Node) -> Said:
        steps = answer.get("steps") or []
        self.history += steps
        calls = [
            SDKCall(each["id"], each["name"], each["arguments"]) for each in steps if each["type"] == "function_call"
        ]
        outputs = [part for each in steps if each["type"] == "model_output" for part in each["content"]]
        return Said("".join(part.get("text") or "" for part in outputs), calls, answer.get("model"), answer)

    def model_of(self, event: Node) -> str | None:
        return (event.get("interaction") or {}).get("model")

    def give(self, call: SDKCall, result: str) -> None:
        self.history.append({"type": "function_result", "call_id": call.id, "name": call.name, "result": result})


SURFACES: tuple[type[Surface], ...] = (Chat, Responses, Messages, Contents, Interactions)
