"""Images that stand between the texts of an answer: their order, whole and in streams, and back."""

from __future__ import annotations

from typing import Any

import pytest

import unified_llm as ul
from sdk_streams import final_response

RESPONSES, GENERATE, INTERACTIONS = "openai-responses", "google-generate-content", "google-interactions"
Node = dict[str, Any]
DATA = "iVBORw0KGgo="


DRAWN = {"inlineData": {"mimeType": "image/jpeg", "data": DATA}}
SIGNED: Node = {**DRAWN, "thoughtSignature": "c2lnbmF0dXJlLW9uZQ=="}
ORDERS: dict[str, list[Node]] = {
    "images between texts": [{"text": "One"}, DRAWN, {"text": "Two"}, DRAWN, {"text": "Three"}],
    "an image first": [DRAWN, {"text": "One"}],
    "two images, and texts around": [{"text": "One"}, DRAWN, DRAWN, {"text": "Two"}],
    "an image alone": [DRAWN],
    "a signed image alone": [SIGNED],
    "signed pieces": [{"text": "One", "thoughtSignature": "c2lnbmF0dXJlLXR3bw=="}, SIGNED, {"text": "Two"}, SIGNED],
    "a signature at the end": [{"text": "One"}, DRAWN, {"text": "", "thoughtSignature": "c2lnbmF0dXJlLXR3bw=="}],
}


def answer_of(parts: list[Node], reason: str = "STOP") -> Node:
    said = {"content": {"role": "model", "parts": parts}, "finishReason": reason, "index": 0}
    return {"candidates": [said], "responseId": "r", "modelVersion": "gemini-3-pro-image-preview"}


def wire_order(parts: list[Node]) -> list[str]:
    """The texts and images of the parts, in their order."""
    return ["image" if "inlineData" in part else part["text"] for part in parts if part.get("text") != ""]


def item_order(items: list[Node]) -> list[str]:
    """The same of the items of Responses, each message of which has one text here."""
    found = []
    for item in items:
        if item["type"] == "message":
            found += ["".join(part["text"] for part in item["content"])] if item["content"] else []
        elif item["type"] != "reasoning":
            assert (item["type"], item["result"]) == ("image_generation_call", DATA)
            found.append("image")
    return found


def in_a_stream(body: Node, source: str = GENERATE, target: str = RESPONSES, **options: Any) -> list[Node]:
    frames = list(ul.write_stream(ul.decompose(ul.read(body, source, "response")), source))
    return list(ul.convert_stream(iter(frames), source=source, target=target, **options))


@pytest.mark.parametrize("name", ORDERS)
def test_images_stand_between_the_texts_of_an_answer(name: str) -> None:
    body = answer_of(ORDERS[name])
    items = ul.convert(body, source=GENERATE, target=RESPONSES, kind="response", secret="s").value["output"]
    assert item_order(items) == wire_order(ORDERS[name])
    assert len({item["id"] for item in items}) == len(items)


@pytest.mark.parametrize("target", [RESPONSES, "openai-responses:open-responses"])
@pytest.mark.parametrize("name", ORDERS)
def test_a_stream_has_its_images_where_the_whole_answer_has_them(name: str, target: str) -> None:
    body = answer_of(ORDERS[name])
    events = [event["data"] for event in in_a_stream(body, target=target) if event["data"] != "[DONE]"]
    output: list[Node] = events[-1]["response"]["output"]
    whole = ul.convert(body, source=GENERATE, target=target, kind="response").value["output"]
    plain = ("id", "encrypted_content")
    bare = [[{key: item[key] for key in item if key not in plain} for item in items] for items in (output, whole)]
    assert bare[0] == bare[1]
    begun = [event["item"]["id"] for event in events if event["type"] == "response.output_item.added"]
    ended = [event["item"] for event in events if event["type"] == "response.output_item.done"]
    assert begun == [item["id"] for item in ended] == [item["id"] for item in output]
    deltas: dict[tuple[str, int], str] = {}
    for event in events:
        if event["type"] == "response.output_text.delta":
            key = (event["item_id"], event["content_index"])
            deltas[key] = deltas.get(key, "") + event["delta"]
    texts = [item for item in output if item["type"] == "message"]
    assert deltas == {(item["id"], n): part["text"] for item in texts for n, part in enumerate(item["content"])}


@pytest.mark.parametrize("name", ORDERS)
def test_the_official_helper_accumulates_the_order(name: str) -> None:
    assert item_order(final_response(in_a_stream(answer_of(ORDERS[name])))["output"]) == wire_order(ORDERS[name])


@pytest.mark.parametrize("show", ["whole", "streamed"])
@pytest.mark.parametrize("name", ORDERS)
def test_an_answer_with_images_between_texts_returns_in_its_order(name: str, show: str) -> None:
    body = answer_of(ORDERS[name])
    if show == "whole":
        items = ul.convert(body, source=GENERATE, target=RESPONSES, kind="response", secret="s").value["output"]
    else:
        items = final_response(in_a_stream(body, secret="s"))["output"]
    asked: list[Node] = [{"role": "user", "content": "Draw."}, *items, {"role": "user", "content": "On."}]
    home = ul.convert({"model": "m", "input": asked}, source=RESPONSES, target=GENERATE, secret="s")
    said = [content for content in home.value["contents"] if content["role"] == "model"]
    assert [content["parts"] for content in said] == [ORDERS[name]]
    assert not [loss for loss in home.losses if loss.fate == "lost"]


@pytest.mark.parametrize("show", ["whole", "streamed"])
def test_signatures_return_to_the_texts_between_images_without_a_secret(show: str) -> None:
    parts: list[Node] = [
        {"text": "One", "thoughtSignature": "c2lnbmF0dXJlLW9uZQ=="}, DRAWN,
        {"text": "Two", "thoughtSignature": "c2lnbmF0dXJlLXR3bw=="},
    ]  # fmt: skip
    if show == "whole":
        items = ul.convert(answer_of(parts), source=GENERATE, target=RESPONSES, kind="response").value["output"]
    else:
        items = final_response(in_a_stream(answer_of(parts)))["output"]
    asked: list[Node] = [{"role": "user", "content": "Draw."}, *items, {"role": "user", "content": "On."}]
    home = ul.convert({"model": "m", "input": asked}, source=RESPONSES, target=GENERATE, model="gemini-3-pro").value
    said = [part for content in home["contents"] if content["role"] == "model" for part in content["parts"]]
    assert [part for part in said if "text" in part] == [parts[0], parts[2]]
    assert wire_order(said) == wire_order(parts)


def test_an_answer_that_breaks_off_behind_an_image_does_so_in_its_last_message() -> None:
    body = answer_of(ORDERS["images between texts"], "MAX_TOKENS")
    whole = ul.convert(body, source=GENERATE, target=RESPONSES, kind="response").value["output"]
    last = in_a_stream(body)[-1]["data"]["response"]["output"]
    for items in (whole, last):
        assert [item["status"] for item in items if item["type"] == "message"] == [
            "completed", "completed", "incomplete"
        ]  # fmt: skip


def test_the_images_of_a_stream_of_openrouter_stand_behind_its_text() -> None:
    """Its chunks may have text before images and behind them: one text, as in its whole answer."""
    image = {"type": "image_url", "image_url": {"url": f"data:image/jpeg;base64,{DATA}"}}

    def chunk(end: str | None = None, **delta: Any) -> Node:
        choice = {"index": 0, "delta": delta, "finish_reason": end}
        return {"data": {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}}

    chunks = [
        chunk(role="assistant", content="On"), chunk(images=[image]), chunk(content="e"), chunk("stop"),
        {"data": "[DONE]"},
    ]  # fmt: skip
    events = list(ul.convert_stream(iter(chunks), source="openai-chat:openrouter", target=RESPONSES))
    assert item_order(final_response(events)["output"]) == ["One", "image"]
