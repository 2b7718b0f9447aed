"""Text from outside is shown by a terminal, and obeyed by none: control characters and markup are text."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import unified_llm as ul
from unified_llm.cli import app
from unified_llm.foundation.terminal import printable

ESC = "\x1b[2J\x1b]0;title\x07\x9b31m\u202e"
MARKUP = "[bold red]not bold[/] [link=http://x]:smile:"


def test_control_characters_are_escaped_and_words_stay() -> None:
    assert printable("a\tb\nc\r\nd") == "a\tb\nc\nd"
    assert printable("Grüße, 日本, 👨‍👩‍👧, שלום") == "Grüße, 日本, 👨‍👩‍👧, שלום"
    assert printable(ESC) == "\\x1b[2J\\x1b]0;title\\x07\\x9b31m\\u202e"


def clean(text: str) -> bool:
    return not {*text} & {"\x1b", "\x07", "\x9b", "\u202e", "\r"}


def test_the_tables_of_losses_show_keys_as_they_are() -> None:
    losses = ul.preview(
        {"model": "m", "messages": [{"role": "user", "content": "Hi"}], f"{ESC}{MARKUP}": 1},
        source="openai-chat",
        target="anthropic-messages",
    )
    table = losses.table()
    assert clean(table) and "[bold" in table and "\\x1b" in table


@pytest.mark.parametrize("command", ["preview", "convert"])
def test_the_command_line_escapes_what_a_document_says(tmp_path: Path, command: str) -> None:
    file = tmp_path / "in.json"
    body = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], f"{ESC}{MARKUP}": ESC}
    file.write_text(json.dumps(body))
    done = CliRunner().invoke(app, [command, "--from", "openai-chat", "--to", "anthropic-messages", str(file)])
    assert done.exit_code == 0 and clean(done.output) and "[bold" in done.output
    file.write_text(json.dumps({"model": "m", "messages": ESC}))
    done = CliRunner().invoke(app, [command, "--from", "openai-chat", "--to", "anthropic-messages", str(file)])
    assert done.exit_code == 2 and clean(done.output)
    done = CliRunner().invoke(app, [command, "--from", ESC, "--to", "openai-chat", str(file)])
    assert done.exit_code == 2 and clean(done.output)


def test_a_conversation_escapes_what_a_model_says() -> None:
    said = f"One {ESC} {MARKUP} two"
    done = CliRunner().invoke(app, ["chat", said, "--model", "local/echo"])
    assert done.exit_code == 0 and clean(done.output) and "[bold red]not bold[/]" in done.output
    body = json.dumps({"model": "echo", "messages": [{"role": "user", "content": said}]})
    for flags in ([], ["--stream"]):
        done = CliRunner().invoke(app, ["run", "-", "--model", "local/echo", *flags], input=body)
        assert done.exit_code == 0 and clean(done.output) and "two" in done.output


@pytest.mark.parametrize(
    "value", [None, 5, "x", [], [[]], {"choices": 5}, {"choices": [None]}, {"usage": []}, {"id": {}}]
)
@pytest.mark.parametrize(
    ("protocol", "kind"),
    [
        (each, kind)
        for each in ul.protocols()
        for kind in ("response", "stream", "models", "count_tokens_response")
        if kind != "stream" or each in ("openai-chat", "openai-responses", "anthropic-messages", "google-interactions")
    ],
)
def test_an_sdks_object_of_an_odd_value_is_one_or_a_typed_error(protocol: str, kind: str, value: object) -> None:
    from unified_llm.engine.registry import adapter

    if kind != "stream" and kind not in adapter(protocol).kinds:
        return
    try:
        ul.to_sdk(value, protocol, kind)
    except ul.InvalidBody as error:
        assert str(error)


def test_an_event_of_a_stream_is_made_an_sdks_object() -> None:
    chunk = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": []}
    assert type(ul.to_sdk(chunk, "openai-chat", "stream")).__name__ == "ChatCompletionChunk"
    event = {"type": "response.output_text.done", "text": "Hi", "item_id": "i", "output_index": 0, "content_index": 0}
    made = ul.to_sdk({**event, "sequence_number": 1, "logprobs": []}, "openai-responses", "stream")
    assert type(made).__name__ == "ResponseTextDoneEvent" and made.text == "Hi"
    assert type(ul.to_sdk({"type": "message_stop"}, "anthropic-messages", "stream")).__name__.endswith("StopEvent")
