"""Answers of each protocol, by hand: what a maker has to have back as it made it, over whatever client protocol.

`ANSWERS[maker][name]` is a whole answer, `asked_on` the next request of a client with it, and `said` what is the
model's in a request, without what has no meaning there: nulls, ids of items that are not stored, the spelling of JSON.
"""

from __future__ import annotations

import base64
import copy
import json
from typing import Any

from test_law_mind import HISTORY

Node = dict[str, Any]
CHAT, RESPONSES, MESSAGES = "openai-chat", "openai-responses", "anthropic-messages"
GENERATE, INTERACTIONS, CONVERSE = "google-generate-content", "google-interactions", "amazon-converse"
OPENROUTER, DEEPSEEK = f"{CHAT}:openrouter", f"{CHAT}:deepseek"
ARGUMENTS: Node = {"b": 1, "a": [2.5, None]}
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def signed(number: int) -> str:
    return base64.b64encode(f"signature-{number}-of-the-maker".encode()).decode()


# ---- Chat Completions -----------------------------------------------------------------------------------------------


def chat(**message: Any) -> Node:
    end = "tool_calls" if "tool_calls" in message else "stop"
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": end}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    head = {"id": "c1", "object": "chat.completion", "created": 1, "model": "m"}
    return {**head, "choices": [choice], "usage": usage}


def chat_call(number: int, arguments: str = json.dumps(ARGUMENTS)) -> Node:
    return {"id": f"call_{number}", "type": "function", "function": {"name": "f", "arguments": arguments}}


CALLED = [chat_call(1), chat_call(2, "{}")]
DETAIL: Node = {"type": "reasoning.text", "text": "Hm.", "signature": signed(1), "index": 0}
CIPHER: Node = {"type": "reasoning.encrypted", "data": signed(2), "id": "rs_1", "index": 1}
PARSED: Node = {"type": "file", "file": {"hash": "a1", "name": "d.pdf", "content": [{"type": "text", "text": "page"}]}}
DRAWN: Node = {"type": "image_url", "index": 0, "image_url": {"url": f"data:image/png;base64,{PIXEL}"}}
OF_CHAT = {
    "text": chat(content="Hello", refusal=None),
    "a call": chat(content=None, tool_calls=CALLED[:1]),
    "a text and two calls": chat(content="Hello", tool_calls=CALLED),
    "a refusal": chat(content=None, refusal="No."),
    "a quoted page": chat(
        content="Hello world",
        annotations=[
            {
                "type": "url_citation",
                "url_citation": {"start_index": 0, "end_index": 5, "url": "https://a.example/b", "title": "T"},
            }
        ],
    ),
}
OF_DEEPSEEK = {
    "text": chat(content="Hello"),
    "reasoning": chat(content="Hello", reasoning_content="Hm."),
    "reasoning and a call": chat(content="", reasoning_content="Hm.", tool_calls=CALLED[:1]),
    "reasoning, a text and two calls": chat(content="Well", reasoning_content="Hm.", tool_calls=CALLED),
    "two calls": chat(content="", tool_calls=CALLED),
}
OF_OPENROUTER = {
    "text": chat(content="Hello"),
    "reasoning": chat(content="Hello", reasoning="Hm."),
    "reasoning and a call": chat(content=None, reasoning="Hm.", tool_calls=CALLED[:1]),
    "signed reasoning": chat(content="Hello", reasoning="Hm.", reasoning_details=[DETAIL]),
    "encrypted reasoning": chat(content="Hello", reasoning="Hm.", reasoning_details=[DETAIL, CIPHER]),
    "signed reasoning and two calls": chat(content="", reasoning="Hm.", reasoning_details=[DETAIL], tool_calls=CALLED),
    "a parsed file": chat(content="Hello", annotations=[PARSED]),
    "a parsed file and signed reasoning": chat(
        content="Hello", reasoning="Hm.", reasoning_details=[DETAIL], annotations=[PARSED]
    ),
    "an image": chat(content="Hello", images=[DRAWN]),
}

# ---- Responses ------------------------------------------------------------------------------------------------------


def response(*output: Node) -> Node:
    head = {"id": "resp_1", "object": "response", "created_at": 1, "status": "completed", "model": "m"}
    return {**head, "output": [*output], "parallel_tool_calls": True, "tool_choice": "auto", "tools": []}


def output_message(number: int, text: str, *notes: Node, **more: Any) -> Node:
    content = [{"type": "output_text", "text": text, "annotations": [*notes]}]
    head = {"type": "message", "id": f"msg_{number}", "status": "completed", "role": "assistant"}
    return {**head, "content": content, **more}


def reasoning(number: int, *summary: str) -> Node:
    told = [{"type": "summary_text", "text": text} for text in summary]
    return {"type": "reasoning", "id": f"rs_{number}", "summary": told, "encrypted_content": signed(number)}


def function_call(number: int) -> Node:
    head = {"type": "function_call", "id": f"fc_{number}", "call_id": f"call_{number}", "name": "f"}
    return {**head, "arguments": json.dumps(ARGUMENTS), "status": "completed"}


SEARCH = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "q"}}
PAGE = {"type": "url_citation", "start_index": 6, "end_index": 11, "url": "https://a.example/b", "title": "T"}
QUOTE = {"type": "file_citation", "file_id": "file-1", "filename": "f.txt", "index": 3}
OF_RESPONSES = {
    "text": response(output_message(1, "Hello")),
    "reasoning": response(reasoning(1, "Hm."), output_message(1, "Hello")),
    "hidden reasoning": response(reasoning(1), output_message(1, "Hello")),
    "reasoning and a call": response(reasoning(1, "Hm."), function_call(1)),
    "reasoning, a text and two calls": response(
        reasoning(1), output_message(1, "Hello"), function_call(1), function_call(2)
    ),
    "reasoning between calls": response(reasoning(1), function_call(1), reasoning(2), function_call(2)),
    "a text behind a call": response(reasoning(1), function_call(1), output_message(1, "Hello")),
    "two reasonings": response(reasoning(1, "Hm."), reasoning(2, "Ah."), output_message(1, "Hello")),
    "two messages": response(reasoning(1), output_message(1, "One"), output_message(2, "Two")),
    "two messages with phases": response(
        reasoning(1), output_message(1, "One", phase="commentary"), output_message(2, "Two", phase="final_answer")
    ),
    "reasoning between messages": response(
        reasoning(1), output_message(1, "One"), reasoning(2), output_message(2, "Two")
    ),
    "a search and a quoted page": response(reasoning(1), SEARCH, output_message(1, "Hello world", PAGE)),
    "a quoted file": response(reasoning(1), output_message(1, "Hello world", QUOTE)),
}

# ---- Messages -------------------------------------------------------------------------------------------------------


def message(*content: Node) -> Node:
    head = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-opus-5-5", "content": [*content]}
    return {**head, "stop_reason": "end_turn", "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1}}


def thinking(number: int, text: str = "Hm.") -> Node:
    return {"type": "thinking", "thinking": text, "signature": signed(number)}


def text(said: str, *citations: Node) -> Node:
    return {"type": "text", "text": said, **({"citations": [*citations]} if citations else {})}


def tool_use(number: int) -> Node:
    return {"type": "tool_use", "id": f"toolu_{number}", "name": "f", "input": ARGUMENTS}


REDACTED = {"type": "redacted_thinking", "data": signed(9)}
PLACE: Node = {"type": "char_location", "cited_text": "x", "document_index": 0, "document_title": "t"}
CITED: Node = {**PLACE, "start_char_index": 0, "end_char_index": 1}
OF_MESSAGES = {
    "text": message(text("Hello")),
    "thinking": message(thinking(1), text("Hello")),
    "redacted thinking": message(thinking(1), REDACTED, text("Hello")),
    "thinking and a call": message(thinking(1, ""), tool_use(1)),
    "thinking, a text and two calls": message(thinking(1), text("Hello"), tool_use(1), tool_use(2)),
    "two calls": message(tool_use(1), tool_use(2)),
    "two texts": message(thinking(1), text("One"), text("Two")),
    "thinking between all": message(thinking(1), text("One"), thinking(2), tool_use(1), thinking(3), tool_use(2)),
    "a quoted document": message(thinking(1), text("Hello", CITED)),
}

# ---- generateContent ------------------------------------------------------------------------------------------------


def candidate(*parts: Node) -> Node:
    said = {"content": {"role": "model", "parts": [*parts]}, "finishReason": "STOP", "index": 0}
    return {"candidates": [said], "modelVersion": "gemini-3-pro-preview", "responseId": "r"}


def part_call(name: str, **more: Any) -> Node:
    return {"functionCall": {"name": name, "args": ARGUMENTS, **more}}


SIGNED = {"thoughtSignature": signed(1)}
THOUGHT = {"text": "Hm.", "thought": True}
CODE: Node = {"executableCode": {"language": "PYTHON", "code": "print(1)"}}
OF_GENERATE = {
    "text": candidate({"text": "Hello"}),
    "signed text": candidate({"text": "Hello", **SIGNED}),
    "a thought and signed text": candidate(THOUGHT, {"text": "Hello", **SIGNED}),
    "a signed call": candidate({**part_call("f"), **SIGNED}),
    "calls without ids": candidate(THOUGHT, {"text": "Hello"}, {**part_call("f"), **SIGNED}, part_call("f")),
    "calls with ids": candidate({**part_call("f", id="1"), **SIGNED}, part_call("g", id="2")),
    "a signature at the end": candidate({"text": "Hello"}, {"text": "", **SIGNED}),
    "a text behind a call": candidate({**part_call("f"), **SIGNED}, {"text": "Hello"}),
    "an image": candidate({"text": "Hello"}, {"inlineData": {"mimeType": "image/png", "data": PIXEL}, **SIGNED}),
    "an image between texts": candidate(
        {"text": "One"}, {"inlineData": {"mimeType": "image/png", "data": PIXEL}, **SIGNED}, {"text": "Two"}
    ),
    "a run of code": candidate(
        {**CODE, **SIGNED}, {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}}, {"text": "Hello"}
    ),
}

# ---- Interactions ---------------------------------------------------------------------------------------------------


def interaction(*steps: Node) -> Node:
    head = {"id": "i", "object": "interaction", "status": "completed", "model": "gemini-3-pro-preview"}
    return {**head, "steps": [*steps]}


def model_output(*texts: str, **more: Any) -> Node:
    return {"type": "model_output", "content": [{"type": "text", "text": each, **more} for each in texts]}


def thought(number: int, *summary: str) -> Node:
    told = {"summary": [{"type": "text", "text": each} for each in summary]} if summary else {}
    return {"type": "thought", "signature": signed(number), **told}


def step_call(number: int, **more: Any) -> Node:
    return {"type": "function_call", "id": f"call_{number}", "name": "f", "arguments": ARGUMENTS, **more}


FILE = {"type": "file_citation", "start_index": 0, "end_index": 5, "file_name": "f.txt", "document_uri": "stores/a/b"}
OF_INTERACTIONS = {
    "text": interaction(model_output("Hello")),
    "a thought": interaction(thought(1, "Hm."), model_output("Hello")),
    "a hidden thought": interaction(thought(1), model_output("Hello")),
    "a thought and a call": interaction(thought(1), step_call(1)),
    "signed calls": interaction(thought(1, "Hm."), step_call(1, signature=signed(2)), step_call(2)),
    "a thought, a text and two calls": interaction(thought(1), model_output("Hello"), step_call(1), step_call(2)),
    "two outputs": interaction(thought(1), model_output("One"), model_output("Two")),
    "a thought between outputs": interaction(thought(1), model_output("One"), thought(2), model_output("Two")),
    "a text behind a call": interaction(thought(1), step_call(1), model_output("Hello")),
    "a quoted file": interaction(thought(1), model_output("Hello", annotations=[FILE])),
}

# ---- Converse -------------------------------------------------------------------------------------------------------


def converse(*content: Node) -> Node:
    said = {"message": {"role": "assistant", "content": [*content]}}
    usage = {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2}
    return {"output": said, "stopReason": "end_turn", "usage": usage, "metrics": {"latencyMs": 1}}


def reasoned(number: int) -> Node:
    return {"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": signed(number)}}}


def block_call(number: int) -> Node:
    return {"toolUse": {"toolUseId": f"tooluse_{number}", "name": "f", "input": ARGUMENTS}}


DOCUMENT = {"title": "t", "sourceContent": [{"text": "x"}], "location": {"documentChar": {"start": 0, "end": 1}}}
OF_CONVERSE = {
    "text": converse({"text": "Hello"}),
    "reasoning": converse(reasoned(1), {"text": "Hello"}),
    "redacted reasoning": converse({"reasoningContent": {"redactedContent": signed(1)}}, {"text": "Hello"}),
    "reasoning and a call": converse(reasoned(1), block_call(1)),
    "reasoning, a text and two calls": converse(reasoned(1), {"text": "Hello"}, block_call(1), block_call(2)),
    "two calls": converse(block_call(1), block_call(2)),
    "two texts": converse(reasoned(1), {"text": "One"}, {"text": "Two"}),
    "reasoning between all": converse(reasoned(1), {"text": "One"}, reasoned(2), block_call(1), reasoned(3)),
    "a quoted document": converse(
        reasoned(1), {"citationsContent": {"content": [{"text": "Hello"}], "citations": [DOCUMENT]}}
    ),
}

ANSWERS: dict[str, dict[str, Node]] = {
    CHAT: OF_CHAT,
    DEEPSEEK: OF_DEEPSEEK,
    OPENROUTER: OF_OPENROUTER,
    RESPONSES: OF_RESPONSES,
    MESSAGES: OF_MESSAGES,
    GENERATE: OF_GENERATE,
    INTERACTIONS: OF_INTERACTIONS,
    CONVERSE: OF_CONVERSE,
}

# ---- in a request ---------------------------------------------------------------------------------------------------

ON: dict[str, tuple[str, Node]] = {
    CHAT: ("messages", {"role": "user", "content": "On."}),
    RESPONSES: ("input", {"type": "message", "role": "user", "content": "On."}),
    MESSAGES: ("messages", {"role": "user", "content": "On."}),
    GENERATE: ("contents", {"role": "user", "parts": [{"text": "On."}]}),
    INTERACTIONS: ("input", {"type": "user_input", "content": [{"type": "text", "text": "On."}]}),
    CONVERSE: ("messages", {"role": "user", "content": [{"text": "On."}]}),
}
_CALLS = ("tool_calls", "function_call", "tool_use", "functionCall", "toolUse")


def base(protocol: str) -> str:
    return protocol.partition(":")[0]


def asked_on(protocol: str, answer: Node) -> Node:
    """The next request of a client with this answer; open calls are the end of it."""
    history: Node = HISTORY[base(protocol)](answer)
    if any(f'"{name}"' in json.dumps(history) for name in _CALLS):
        return history
    key, more = ON[base(protocol)]
    return {**history, key: [*history[key], more]}


def said(request: Node, protocol: str) -> list[Any]:
    """What a request of this protocol holds of the model's, without what has no meaning there."""
    key, _ = ON[base(protocol)]
    mine = [
        each for each in request[key] if each.get("role") not in ("user", "system") and each.get("type") != "user_input"
    ]
    return [_SAID.get(base(protocol), _full)(copy.deepcopy(each)) for each in mine]


def _full(value: Any) -> Any:
    """A value without what is null, or an empty list."""
    if type(value) is dict:
        return {key: _full(inner) for key, inner in value.items() if inner is not None and inner != []}
    return [_full(inner) for inner in value] if type(value) is list else value


def _said_in_chat(wire: Node) -> Node:
    for each in wire.get("tool_calls") or ():
        each["function"]["arguments"] = json.loads(each["function"]["arguments"])
    content = wire.get("content")
    if type(content) is list and all(part["type"] == "text" for part in content):
        wire["content"] = "".join(part["text"] for part in content)
    elif type(content) is list and [part["type"] for part in content] == ["refusal"]:
        wire |= {"content": None, "refusal": content[0]["refusal"]}
    # No request of Chat cites pages; a client of its own may leave them there.
    wire["annotations"] = [each for each in wire.get("annotations") or () if each["type"] != "url_citation"]
    return {key: value for key, value in _full(wire).items() if value != ""}


def _said_in_responses(item: Node) -> Any:
    item.pop("status", None)
    if item["type"] in ("message", "function_call"):
        item.pop("id", None)  # of what is not stored
    if "arguments" in item:
        item["arguments"] = json.loads(item["arguments"])
    if type(item.get("content")) is str:
        item["content"] = [{"type": "output_text", "text": item["content"]}]
    return _full(item)


def _said_in_messages(wire: Node) -> Any:
    if type(wire["content"]) is str:
        wire["content"] = [text(wire["content"])]
    return _full(wire)


_SAID = {CHAT: _said_in_chat, RESPONSES: _said_in_responses, MESSAGES: _said_in_messages}
