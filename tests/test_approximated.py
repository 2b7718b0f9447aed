"""What a target has no room for as it is, and what it is sent instead."""

from __future__ import annotations

from typing import Any

import pytest

import unified_llm as ul

Node = dict[str, Any]
CHAT, RESPONSES, MESSAGES = "openai-chat", "openai-responses", "anthropic-messages"
CONTENT, INTERACTIONS = "google-generate-content", "google-interactions"
ASKED: Node = {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]}
SAID: Node = {"model": "gpt-5.6", "input": "Hi"}


def fates(done: ul.Converted, fate: str) -> list[str]:
    return [loss.path for loss in done.losses if loss.fate == fate]


USER: Node = {"role": "user", "content": "Hi"}


@pytest.mark.parametrize(
    ("said", "fate"), [("required", "lost"), ({"type": "image_generation"}, "lost"), ("none", "approximated")], ids=str
)
def test_messages_is_told_nothing_of_tools_that_are_not_there(said: Any, fate: str) -> None:
    done = ul.convert({**SAID, "tools": [{"type": "image_generation"}], "tool_choice": said},
                      source=RESPONSES, target=MESSAGES)  # fmt: skip
    assert "tool_choice" not in done.value and "tools" not in done.value
    assert any(path.startswith("/tool_choice") for path in fates(done, fate))
    own = {"model": "m", "max_tokens": 9, "messages": [USER], "tool_choice": {"type": "any"}}
    assert ul.convert(own, source=MESSAGES, target=MESSAGES).value == own


@pytest.mark.parametrize(
    ("source", "target", "said", "sent"),
    [
        (RESPONSES, MESSAGES, "30m", "1h"),
        (CHAT, MESSAGES, "12h", "1h"),
        (MESSAGES, RESPONSES, "5m", "30m"),
        (MESSAGES, CHAT, "1h", "12h"),
        (MESSAGES, MESSAGES, "7m", "7m"),
        (CHAT, RESPONSES, "12h", "12h"),
    ],
)
def test_a_cached_prompt_lives_as_long_as_the_target_can(source: str, target: str, said: str, sent: str) -> None:
    if source == MESSAGES:
        part = {"type": "text", "text": "Hi", "cache_control": {"type": "ephemeral", "ttl": said}}
        body: Node = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": [part]}]}
    else:
        kind = "input_text" if source == RESPONSES else "text"
        part = {"type": kind, "text": "Hi", "prompt_cache_breakpoint": {"mode": "explicit", "ttl": said}}
        body = {"model": "m", "input" if source == RESPONSES else "messages": [{"role": "user", "content": [part]}]}
    done = ul.convert(body, source=source, target=target)
    (message,) = done.value.get("messages") or done.value["input"]
    written = message["content"][0]
    assert (written.get("cache_control") or written["prompt_cache_breakpoint"])["ttl"] == sent
    assert any(path.endswith("/ttl") for path in fates(done, "approximated")) == (said != sent)


@pytest.mark.parametrize(
    ("media_type", "data", "source"),
    [
        ("application/pdf", "JVBERg==", {"type": "base64", "media_type": "application/pdf", "data": "JVBERg=="}),
        ("text/csv", "YSxi", {"type": "text", "media_type": "text/plain", "data": "a,b"}),
        ("application/json", "e30=", {"type": "text", "media_type": "text/plain", "data": "{}"}),
        ("audio/mpeg", "//sQxA==", None),
    ],
)  # fmt: skip
def test_a_document_of_messages_is_pdf_or_text(media_type: str, data: str, source: Node | None) -> None:
    file = {"type": "input_file", "filename": "f", "file_data": f"data:{media_type};base64,{data}"}
    text = {"type": "input_text", "text": "Read."}
    body = {"model": "m", "input": [{"role": "user", "content": [text, file]}]}
    done = ul.convert(body, source=RESPONSES, target=MESSAGES)
    blocks = done.value["messages"][0]["content"]
    assert [block["source"] for block in blocks[1:]] == ([source] if source else [])
    fate = {"text/csv": "approximated", "application/json": "approximated", "audio/mpeg": "lost"}.get(media_type)
    assert fate is None or any(path.startswith("/input/0/content/1") for path in fates(done, fate))


def test_two_searches_are_one_at_messages_where_each_name_is_there_once() -> None:
    body = {**ASKED, "tools": [{"googleSearch": {}}, {"enterpriseWebSearch": {}}, {"codeExecution": {}}]}
    done = ul.convert(body, source=CONTENT, target=MESSAGES)
    assert [tool["name"] for tool in done.value["tools"]] == ["web_search", "code_execution"]
    assert any(path.startswith("/tools/1") for path in fates(done, "lost"))


@pytest.mark.parametrize(
    ("body", "source"),
    [
        ({"model": "m", "max_tokens": 9, "system": [], "messages": [USER]}, MESSAGES),
        ({"model": "m", "input": [{"role": "user", "content": []}, USER]}, RESPONSES),
        ({"model": "m", "input": [{"type": "user_input", "content": [{"type": "text", "text": "Hi"}]},
                                  {"type": "model_output", "content": [{"type": "image", "data": "aGk="}]}]},
         INTERACTIONS),
    ],
    ids=["system", "user", "picture"],
)  # fmt: skip
def test_a_message_of_chat_has_a_content(body: Node, source: str) -> None:
    for message in ul.convert(body, source=source, target=CHAT).value["messages"]:
        assert message["content"] not in ([], None)
    own = {"model": "m", "messages": [{"role": "user", "content": []}, {"role": "assistant", "content": None}]}
    assert ul.convert(own, source=CHAT, target=CHAT).value == own


@pytest.mark.parametrize(("stream", "format_"), [(False, "wav"), (True, "pcm16")])
def test_who_speaks_at_chat_has_a_voice(stream: bool, format_: str) -> None:
    body = {**ASKED, "generationConfig": {"responseModalities": ["AUDIO"]}}
    path = f"models/m:{'streamGenerateContent' if stream else 'generateContent'}"
    done = ul.convert(body, source=CONTENT, target=CHAT, http={"path": path})
    assert done.value["audio"] == {"voice": "alloy", "format": format_}
    assert {"/audio/voice", "/audio/format"} <= set(fates(done, "added"))


def test_a_server_of_tools_without_an_address_is_not_declared() -> None:
    servers = [{"type": "mcp_server", "name": "near"},
               {"type": "mcp_server", "name": "far", "url": "https://mcp.example.com"}]  # fmt: skip
    done = ul.convert({"model": "m", "input": "Hi", "tools": servers}, source=INTERACTIONS, target=RESPONSES)
    assert [tool["server_label"] for tool in done.value["tools"]] == ["far"]
    assert any(path.startswith("/tools/0") for path in fates(done, "lost"))


def test_a_shell_that_did_not_run_says_so() -> None:
    call = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "bash_code_execution", "input": {"command": "yes"}}
    failure = {"type": "bash_code_execution_tool_result_error", "error_code": "output_file_too_large"}
    result = {"type": "bash_code_execution_tool_result", "tool_use_id": "srvtoolu_1", "content": failure}
    told = {"stdout": "", "stderr": "output_file_too_large", "outcome": {"type": "exit", "exit_code": 1}}
    body = {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [call, result],
        "stop_reason": "end_turn", "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1},
    }  # fmt: skip
    done = ul.convert(body, source=MESSAGES, target=RESPONSES, kind="response")
    (output,) = (item for item in done.value["output"] if item["type"] == "shell_call_output")
    assert output["output"] == [told]
    assert "/content/1/content/error_code" in fates(done, "approximated")
    events = list(ul.write_stream(ul.decompose(ul.read(body, MESSAGES, "response")), MESSAGES))
    last = [each["data"] for each in ul.convert_stream(iter(events), source=MESSAGES, target=RESPONSES)][-1]
    (output,) = (item for item in last["response"]["output"] if item["type"] == "shell_call_output")
    assert output["output"] == [told]
    # A request withholds both: the provider did not run that shell, and nor did its client (ADR 0026).
    turns = [USER, {"role": "assistant", "content": [call, result]}, USER]
    asked = ul.convert({"model": "m", "max_tokens": 9, "messages": turns}, source=MESSAGES, target=RESPONSES)
    assert not [item for item in asked.value["input"] if item["type"].startswith("shell_call")]
    assert any(path.startswith("/messages/1/content/1") for path in fates(asked, "lost"))


def test_a_document_that_a_tool_gave_is_said_at_generate_content() -> None:
    document = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "The fog lifted."}}
    call = {"type": "tool_use", "id": "t1", "name": "f", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": [document]}
    turns = [USER, {"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
    done = ul.convert({"model": "m", "max_tokens": 9, "messages": turns}, source=MESSAGES, target=CONTENT)
    (part,) = done.value["contents"][-1]["parts"]
    assert (
        part["functionResponse"]["response"] == {"output": "The fog lifted."}
        and "parts" not in part["functionResponse"]
    )


@pytest.mark.parametrize(
    ("data", "mime"),
    [("iVBORw0KGgoAAAA", "image/png"), ("UklGRiQAAABXRUJQ", "image/webp"), ("UklGRiQAAABXQVZF", "audio/wav")],
)
def test_media_without_a_type_are_read_off_their_first_bytes(data: str, mime: str) -> None:
    content = [{"type": "image", "data": data}]
    body = {"model": "m", "input": [{"type": "user_input", "content": content}]}
    done = ul.convert(body, source=INTERACTIONS, target=CONTENT)
    assert done.value["contents"][0]["parts"][0]["inlineData"]["mimeType"] == mime
    assert "/contents/0/parts/0/inlineData/mimeType" in fates(done, "added")


def test_a_document_in_parts_is_said_at_interactions() -> None:
    inner = [{"type": "text", "text": "One."}, {"type": "image", "source": {"type": "url", "url": "https://e.org/c.png"}},
             {"type": "text", "text": "Two."}]  # fmt: skip
    blocks = [{"type": "document", "source": {"type": "content", "content": content}} for content in ("A line.", inner)]
    body = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": blocks}]}
    done = ul.convert(body, source=MESSAGES, target=INTERACTIONS)
    assert [part["text"] for part in done.value["input"][0]["content"]] == ["A line.", "One.\nTwo."]
    assert any("/messages/0/content/1/source/content/1" in path for path in fates(done, "lost"))


@pytest.mark.parametrize("target", [CHAT, RESPONSES])
@pytest.mark.parametrize(("said", "sent"), [("low", "low"), ("medium", "high"), ("ultra_high", "original")])
def test_how_closely_an_image_is_looked_at(target: str, said: str, sent: str) -> None:
    content = [{"type": "image", "mime_type": "image/png", "data": "iVBORw0KGgo=", "resolution": said}]
    body = {"model": "m", "input": [{"type": "user_input", "content": content}]}
    done = ul.convert(body, source=INTERACTIONS, target=target)
    (part,) = (done.value["messages"] if target == CHAT else done.value["input"])[0]["content"]
    assert (part["image_url"] if target == CHAT else part)["detail"] == sent
    assert ("/input/0/content/0/resolution" in fates(done, "approximated")) == (said != sent)
    back = ul.convert(done.value, source=target, target=INTERACTIONS).value["input"][0]["content"][0]
    assert back["resolution"] == ("high" if said == "medium" else said)
