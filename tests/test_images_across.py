"""Images that a model or its tool made: a part of generateContent or Interactions, an item of Responses."""

from __future__ import annotations

from typing import Any

import pytest

import unified_llm as ul

RESPONSES, GENERATE, INTERACTIONS = "openai-responses", "google-generate-content", "google-interactions"
Node = dict[str, Any]
DATA = "iVBORw0KGgo="

BODIES: dict[str, Node] = {
    RESPONSES: {
        "id": "resp_1", "object": "response", "created_at": 1, "model": "m", "status": "completed",
        "output": [
            {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
             "content": [{"type": "output_text", "text": "Here:", "annotations": []}]},
            {"type": "image_generation_call", "id": "ig_1", "status": "completed", "result": DATA,
             "output_format": "jpeg"},
        ],
    },
    GENERATE: {
        "candidates": [{
            "content": {"role": "model", "parts": [
                {"text": "Here:"}, {"inlineData": {"mimeType": "image/jpeg", "data": DATA}},
            ]},
            "finishReason": "STOP", "index": 0,
        }],
    },
    INTERACTIONS: {
        "id": "i", "object": "interaction", "status": "completed", "model": "m",
        "steps": [{"type": "model_output", "content": [
            {"type": "text", "text": "Here:"}, {"type": "image", "data": DATA, "mime_type": "image/jpeg"},
        ]}],
    },
}  # fmt: skip


def pictures(protocol: str, body: Node) -> list[tuple[str, str]]:
    """Kind and data of each image of an answer."""
    if protocol == RESPONSES:
        found = [item for item in body["output"] if item["type"] == "image_generation_call"]
        return [(f"image/{item['output_format']}", item["result"]) for item in found]
    if protocol == GENERATE:
        parts = body["candidates"][0]["content"]["parts"]
        return [(part["inlineData"]["mimeType"], part["inlineData"]["data"]) for part in parts if "inlineData" in part]
    contents = [content for step in body["steps"] for content in step.get("content", ())]
    return [(each["mime_type"], each["data"]) for each in contents if each["type"] == "image"]


PAIRS = [(a, b) for a in BODIES for b in BODIES]


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_an_image_arrives(source: str, target: str) -> None:
    done = ul.convert(BODIES[source], source=source, target=target, kind="response")
    assert pictures(target, done.value) == [("image/jpeg", DATA)]
    assert not [loss for loss in done.losses if loss.fate == "lost" and "image" in loss.capability]


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_an_image_arrives_in_a_stream(source: str, target: str) -> None:
    events = list(ul.write_stream(ul.decompose(ul.read(BODIES[source], source, "response")), source))
    stream = ul.convert_stream(iter(events), source=source, target=target)
    answer = ul.collect(ul.read_stream(stream, target))
    assert pictures(target, ul.write(answer, target, "response").value) == [("image/jpeg", DATA)]


def test_an_answer_of_an_image_alone_is_an_item_alone() -> None:
    body: Node = {"candidates": [{
        "content": {"role": "model", "parts": [{"inlineData": {"mimeType": "image/png", "data": DATA}}]},
        "finishReason": "STOP",
    }]}  # fmt: skip
    output = ul.convert(body, source=GENERATE, target=RESPONSES, kind="response").value["output"]
    assert [(item["type"], item["result"], item["status"]) for item in output] == [
        ("image_generation_call", DATA, "completed")
    ]
    assert output[0]["id"].startswith("ig_")


@pytest.mark.parametrize(("model", "signed"), [("gemini-3-pro-image-preview", True), ("gemini-2.5-flash", False)])
def test_an_image_in_a_history_arrives(model: str, signed: bool) -> None:
    """The next request edits it. Models that sign their images refuse one of others without the documented stand-in."""
    call = {
        "type": "image_generation_call",
        "id": "ig_1",
        "status": "completed",
        "result": DATA,
        "output_format": "webp",
    }
    history: list[Node] = [{"role": "user", "content": "Draw."}, call, {"role": "user", "content": "In red."}]
    done = ul.convert({"model": "m", "input": history}, source=RESPONSES, target=GENERATE, model=model)
    drawn = done.value["contents"][1]["parts"]
    assert [part["inlineData"] for part in drawn] == [{"mimeType": "image/webp", "data": DATA}]
    assert [part.get("thoughtSignature") == "skip_thought_signature_validator" for part in drawn] == [signed]
    assert not [loss for loss in done.losses if loss.fate == "lost"]


def test_an_image_that_has_no_data_is_lost_and_told() -> None:
    body = {**BODIES[RESPONSES], "output": [{**BODIES[RESPONSES]["output"][1], "result": None, "status": "failed"}]}
    done = ul.convert(body, source=RESPONSES, target=GENERATE, kind="response")
    assert [loss.fate for loss in done.losses if loss.path == "/output/0"] == ["lost"]


SENT = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": DATA}}


def _drawn(*more: Node) -> Node:
    call = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
    drawn = {"type": "image_generation_call", "id": "ig_1", "status": "completed", "result": DATA}
    result = {"type": "function_call_output", "call_id": "c", "output": "done"}
    return {"model": "m", "input": [{"role": "user", "content": "Draw."}, drawn, call, result, *more]}


@pytest.mark.parametrize("more", [(), ({"role": "assistant", "content": "So."}, {"role": "user", "content": "Why?"})])
def test_an_image_before_the_results_of_tools_is_sent_behind_them(more: tuple[Node, ...]) -> None:
    """Nothing of the user's may stand between a call and its result."""
    done = ul.convert(_drawn(*more), source=RESPONSES, target="anthropic-messages")
    results = done.value["messages"][2]
    assert [block["type"] for block in results["content"]] == ["tool_result", "image"]
    assert results["content"][1] == SENT
    assert not [loss for loss in done.losses if loss.fate == "lost"]
    roles = [message["role"] for message in done.value["messages"]]
    assert roles == ["user", "assistant", "user", "assistant", "user"][: len(roles)]
    sent = ul.convert(_drawn(*more), source=RESPONSES, target="openai-chat").value["messages"]
    assert [message["role"] for message in sent[:4]] == ["user", "assistant", "tool", "user"]
    assert sent[3]["content"] == [{"type": "image_url", "image_url": {"url": f"data:image/png;base64,{DATA}"}}]
    turns = ul.convert(_drawn(*more), source=RESPONSES, target="amazon-converse").value["messages"]
    assert [next(iter(block)) for block in turns[2]["content"]] == ["toolResult", "image"]


def test_an_image_that_ends_a_conversation_is_lost_and_told() -> None:
    """A message behind it would make another question of the request."""
    history = _drawn()["input"][:2]
    done = ul.convert({"model": "m", "input": history}, source=RESPONSES, target="anthropic-messages")
    assert "image" not in str(done.value)
    assert [loss.path for loss in done.losses if loss.fate == "lost"] == ["/input/1"]


@pytest.mark.parametrize("kind", ["image/heic", "image/bmp", "image/svg+xml"])
@pytest.mark.parametrize(
    "target", ["anthropic-messages", "amazon-converse", "openai-chat:openai", "openai-responses:azure"]
)
def test_an_image_of_a_type_that_the_target_refuses_is_reported(kind: str, target: str) -> None:
    """Gemini takes HEIC, as telephones make it; the others refuse a request that has one."""
    body = {"contents": [{"role": "user", "parts": [
        {"text": "Look:"}, {"inlineData": {"mimeType": kind, "data": "AAAA"}},
        {"inlineData": {"mimeType": "image/png", "data": DATA}},
    ]}]}  # fmt: skip
    done = ul.convert(body, source=GENERATE, target=target, model="m")
    content = (done.value.get("messages") or done.value["input"])[0]["content"]
    assert len(content) == 2
    if target == "anthropic-messages":
        assert content[1] == SENT
    elif target.startswith("openai"):
        assert DATA in str(content[1])
    else:
        assert content[1]["image"]["format"] == "png"
    lost = [loss for loss in done.losses if loss.capability == "image.input"]
    assert [(loss.path, loss.fate) for loss in lost] == [("/contents/0/parts/1", "lost")]
    assert any(word in lost[0].detail for word in ("format", "JPEG", "image/jpeg", "types"))


def test_a_common_misspelling_of_jpeg_is_corrected() -> None:
    body = {"contents": [{"role": "user", "parts": [{"inlineData": {"mimeType": "image/jpg", "data": "AAAA"}}]}]}
    done = ul.convert(body, source=GENERATE, target="anthropic-messages", model="m")
    assert done.value["messages"][0]["content"][0]["source"]["media_type"] == "image/jpeg"
    picture = {"type": "image_url", "image_url": {"url": "data:image/jpg;base64,AAAA"}}
    body = {"model": "m", "messages": [{"role": "user", "content": [picture]}]}
    sent = ul.convert(body, source="openai-chat", target=GENERATE, model="gemini-3-pro")
    assert sent.value["contents"][0]["parts"][0]["inlineData"]["mimeType"] == "image/jpeg"


@pytest.mark.parametrize("kind", ["image/gif", "image/bmp"])
def test_an_image_of_a_type_that_gemini_refuses_is_reported(kind: str) -> None:
    """A GIF in the history of a session with Claude or GPT makes Gemini refuse each later request."""
    url = f"data:{kind};base64,R0lGODlh"
    picture = {"type": "image_url", "image_url": {"url": url}}
    text = {"type": "text", "text": "q"}
    body = {"model": "m", "messages": [{"role": "user", "content": [text, picture]}]}
    done = ul.convert(body, source="openai-chat", target=GENERATE, model="gemini-3-pro")
    assert done.value["contents"][0]["parts"] == [{"text": "q"}]
    assert [(loss.path, loss.fate) for loss in done.losses] == [("/messages/0/content/1", "lost")]
    steps = ul.convert(body, source="openai-chat", target=INTERACTIONS, model="gemini-3-pro").value["input"]
    assert steps[0]["content"][1]["mime_type"] == kind
    own = {"contents": [{"role": "user", "parts": [{"inlineData": {"mimeType": kind, "data": "R0lGODlh"}}]}]}
    assert ul.convert(own, source=GENERATE, target=GENERATE).value == own


def test_what_begins_like_a_png_is_one_whatever_it_is_called() -> None:
    part = {"type": "image_url", "image_url": {"url": f"data:image/heic;base64,{DATA}"}}
    body = {"model": "m", "messages": [{"role": "user", "content": [part]}]}
    done = ul.convert(body, source="openai-chat", target="anthropic-messages")
    assert done.value["messages"][0]["content"] == [SENT]


def test_an_image_of_a_type_that_interactions_lacks_is_reported() -> None:
    parts = [
        {"type": "image_url", "image_url": {"url": f"data:{kind};base64,AAAA"}}
        for kind in ("image/svg+xml", "image/JPG")
    ]
    body = {"model": "m", "messages": [{"role": "user", "content": parts}]}
    done = ul.convert(body, source="openai-chat", target=INTERACTIONS, model="gemini-3-pro")
    assert [part["mime_type"] for part in done.value["input"][0]["content"]] == ["image/jpeg"]
    assert ("/messages/0/content/0", "lost") in [(loss.path, loss.fate) for loss in done.losses]


HISTORIES: dict[str, Node] = {
    RESPONSES: {
        "model": "m",
        "input": [
            {"role": "user", "content": "Draw a house."},
            BODIES[RESPONSES]["output"][1],
            {"role": "user", "content": "Make it blue."},
        ],
    },
    GENERATE: {
        "contents": [
            {"role": "user", "parts": [{"text": "Draw a house."}]},
            BODIES[GENERATE]["candidates"][0]["content"],
            {"role": "user", "parts": [{"text": "Make it blue."}]},
        ],
    },
    INTERACTIONS: {
        "model": "m",
        "input": [
            {"type": "user_input", "content": [{"type": "text", "text": "Draw a house."}]},
            BODIES[INTERACTIONS]["steps"][0],
            {"type": "user_input", "content": [{"type": "text", "text": "Make it blue."}]},
        ],
    },
}
TAKEN = {
    "openai-chat": {"type": "image_url", "image_url": {"url": f"data:image/jpeg;base64,{DATA}"}},
    "openai-chat:openrouter": {"type": "image_url", "image_url": {"url": f"data:image/jpeg;base64,{DATA}"}},
    "anthropic-messages": {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": DATA}},
    "amazon-converse": {"image": {"format": "jpeg", "source": {"bytes": DATA}}},
    RESPONSES: {"type": "input_image", "image_url": f"data:image/jpeg;base64,{DATA}", "detail": "auto"},
}


@pytest.mark.parametrize(
    ("source", "target"),
    [
        (source, target)
        for source in HISTORIES
        for target in TAKEN
        if source != target and (source == RESPONSES or target != "openai-chat:openrouter")
    ],
)
def test_an_image_of_the_model_is_sent_as_the_users_where_only_that_is_taken(source: str, target: str) -> None:
    """So the next request can edit it, as it can at its own provider. OpenRouter takes images of the model."""
    done = ul.convert(HISTORIES[source], source=source, target=target, model="m")
    turns = done.value["input" if target == RESPONSES else "messages"]
    assert turns[-1]["role"] == "user" and TAKEN[target] in turns[-1]["content"]
    assert not [loss for loss in done.losses if loss.fate == "lost"]
    assert [loss for loss in done.losses if loss.fate == "approximated" and "sent as an image" in loss.detail]


def test_an_image_of_the_model_without_a_message_behind_it_is_lost() -> None:
    body = {**HISTORIES[RESPONSES], "input": HISTORIES[RESPONSES]["input"][:2]}
    done = ul.convert(body, source=RESPONSES, target="openai-chat", model="m")
    assert [loss.path for loss in done.losses if loss.fate == "lost"] == ["/input/1"]


def test_a_client_of_the_canonical_form_is_treated_alike() -> None:
    history = ul.read(HISTORIES[GENERATE], GENERATE).dump()
    done = ul.write({**history, "model": "m"}, "anthropic-messages")
    assert TAKEN["anthropic-messages"] in done.value["messages"][-1]["content"]


def test_images_of_openrouter_are_sent_to_openai_as_the_users() -> None:
    image = {"type": "image_url", "image_url": {"url": f"data:image/jpeg;base64,{DATA}"}}
    body: Node = {"model": "m", "messages": [
        {"role": "user", "content": "Draw a house."}, {"role": "assistant", "content": "Here:", "images": [image]},
        {"role": "user", "content": "Make it blue."},
    ]}  # fmt: skip
    done = ul.convert(body, source="openai-chat:openrouter", target="openai-chat:openai")
    assert done.value["messages"][1:] == [
        {"role": "assistant", "content": "Here:"},
        {"role": "user", "content": [image, {"type": "text", "text": "Make it blue."}]},
    ]
    assert ul.convert(body, source="openai-chat:openrouter", target="openai-chat:openrouter").value == body


def test_an_image_of_the_model_is_not_sent_to_a_server_of_texts() -> None:
    done = ul.convert(HISTORIES[RESPONSES], source=RESPONSES, target="openai-chat:deepseek", model="deepseek-chat")
    assert done.value["messages"][-1] == {"role": "user", "content": "Make it blue."}
    assert [loss.path for loss in done.losses if loss.fate == "lost"] == ["/input/1"]


@pytest.mark.parametrize("surface", ["openai-chat", "anthropic-messages"])
def test_a_hosted_image_returns_to_its_api_as_the_item_it_was(surface: str) -> None:
    """The call of a tool is an item of the API itself, and not sent as an image of the user there."""
    shown = ul.convert(BODIES[RESPONSES], source=RESPONSES, target=surface, kind="response", secret="s").value
    said = (
        [shown["choices"][0]["message"]]
        if surface == "openai-chat"
        else [{"role": "assistant", "content": shown["content"]}]
    )
    user = {"role": "user", "content": "Draw."}
    body = {"model": "m", "max_tokens": 99, "messages": [user, *said, {"role": "user", "content": "In red."}]}
    home = ul.convert(body, source=surface, target=RESPONSES, secret="s", model="gpt-5.4").value["input"]
    assert [item["type"] for item in home] == ["message", "message", "image_generation_call", "message"]
    assert home[2]["result"] == DATA and home[3]["content"] == "In red."
