"""What stands in `input=`: texts and media mixed, alone and inside messages; anything else is refused with its path."""

from __future__ import annotations

import base64
import io
import json
import mimetypes
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import unified_llm as ul
from client.providers import PROTOCOLS, Canned, message, response, upstream
from unified_llm.client import file, image
from unified_llm.client.inputs.media import part_of
from unified_llm.client.requests import call_of
from unified_llm.drift import FakeUpstream

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
PDF = b"%PDF-1.4\n%%EOF\n"
WAV = b"RIFF\x24\x00\x00\x00WAVEfmt " + bytes(28)
TEXT = {"type": "input_text", "text": "What is this?"}
PICTURE = {"type": "input_image", "image_url": f"data:image/png;base64,{base64.b64encode(PNG).decode()}"}


def sent(**given: Any) -> Any:
    canned = Canned("openai-responses", response(message("Hi")))
    ul.Client(canned.upstream).responses.create(**given)
    return canned.bodies[0]


def body_of(**given: Any) -> Any:
    """The canonical request of a call."""
    return call_of(given).body


def refused(**given: Any) -> ul.InvalidBody:
    canned = Canned("openai-responses", response(message("Hi")))
    with pytest.raises(ul.InvalidBody) as caught:
        ul.Client(canned.upstream).responses.create(**given)
    assert canned.requests == []
    return caught.value


class Drawing:
    """What imaging libraries have: a form for notebooks, and one for files where there is no such form."""

    def __init__(self, notebook: bool) -> None:
        self._repr_png_: Callable[[], bytes | None] = lambda: PNG if notebook else None

    def getbands(self) -> tuple[str, ...]:
        return ("C", "M", "Y", "K")

    def convert(self, mode: str) -> Drawing:
        assert mode == "RGB"
        return self

    def save(self, where: io.BytesIO, format: str) -> None:
        assert format == "PNG"
        where.write(PNG)


@pytest.mark.parametrize(
    "picture", [image(PNG), ul.InputImage(**image(PNG)), PNG, bytearray(PNG), Drawing(True), Drawing(False)]
)
def test_texts_and_images_are_one_message(picture: Any) -> None:
    want = [{"type": "message", "role": "user", "content": [TEXT, PICTURE]}]
    assert sent(input=["What is this?", picture])["input"] == want
    assert sent(input=("What is this?", picture))["input"] == want
    assert sent(input=[{"role": "user", "content": ["What is this?", picture]}])["input"] == want
    assert sent(input=[picture])["input"] == sent(input=picture)["input"] == [{**want[0], "content": [PICTURE]}]
    assert sent(input=[{"role": "user", "content": picture}])["input"] == [{**want[0], "content": [PICTURE]}]


def test_an_image_of_the_imaging_library() -> None:
    pillow = pytest.importorskip("PIL.Image")
    for mode in ("RGB", "RGBA", "CMYK"):
        (item,) = sent(input=["?", pillow.new(mode, (2, 2))])["input"]
        assert item["content"][1]["image_url"].startswith("data:image/png;base64,iVBORw0KGgo")


def test_texts_alone_are_messages_of_their_own() -> None:
    user = {"type": "message", "role": "user"}
    assert sent(input=["a", "b"])["input"] == [{**user, "content": "a"}, {**user, "content": "b"}]
    items = ["a", image(PNG), {"role": "assistant", "content": ["Yes."]}, "b"]
    assert [item["content"] for item in sent(input=items)["input"]] == [
        [{"type": "input_text", "text": "a"}, PICTURE],
        [{"type": "output_text", "text": "Yes."}],
        "b",
    ]


def test_texts_and_media_go_on_from_a_result() -> None:
    client = ul.Client(model="local/echo")
    first = client.responses.create(input="One.")
    second = client.responses.create(input=["Zero.", image(PNG), first, "Two.", image(PNG)])
    assert second.output_text.startswith("Two.")
    third = client.responses.create(previous=first, input=["Three.", PNG])
    assert [item.role for item in third.items][:3] == ["user", "assistant", "user"]


@pytest.mark.parametrize(
    ("name", "data", "kind", "key", "begins"),
    [
        ("a.png", PNG, "input_image", "image_url", "data:image/png;base64,"),
        ("a.webp", b"RIFF....WEBP", "input_image", "image_url", "data:image/webp;base64,"),
        ("a.pdf", PDF, "input_file", "file_data", "data:application/pdf;base64,"),
        ("a.txt", b"hello", "input_file", "file_data", "data:text/plain;base64,"),
        ("a.csv", b"a,b", "input_file", "file_data", "data:text/csv;base64,"),
        ("a.wav", WAV, "input_audio", "format", "wav"),
        ("a.mp3", b"ID3", "input_audio", "format", "mp3"),
        ("a.mp4", b"....ftypisom", "input_video", "video_url", "data:video/mp4;base64,"),
        ("picture", PNG, "input_image", "image_url", "data:image/png;base64,"),
    ],
)
def test_files_are_what_their_media_type_says(
    tmp_path: Path, name: str, data: bytes, kind: str, key: str, begins: str
) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    part = body_of(input=["What is this?", path])["input"][0]["content"][1]
    assert part["type"] == kind
    assert part[key].startswith(begins)
    if kind == "input_file":
        assert part["filename"] == name


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (PNG, "input_image"),
        (PDF, "input_file"),
        (WAV, "input_audio"),
        (b"OggS", "input_audio"),
        (b"\x1aE\xdf\xa3", "input_video"),
    ],
)
def test_bytes_are_what_they_begin_with(data: bytes, kind: str) -> None:
    assert body_of(input=data)["input"][0]["content"][0]["type"] == kind


@pytest.mark.parametrize(
    "name", ["server.log", "pyproject.toml", "ci.yaml", "main.go", "rows.jsonl", "Makefile", "README", ".env"]
)
def test_text_of_any_name_is_plain_text_and_reaches_the_model(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text("Zeile é", encoding="utf-8")
    upstream = FakeUpstream("anthropic-messages")
    answer = ul.Client(upstream).responses.create(input=["What is this?", tmp_path / name])
    assert upstream.requests[0]["messages"][0]["content"][1]["source"]["data"] == "Zeile é"
    assert upstream.survives("*") and not [loss for loss in answer.losses if loss.fate == "lost"]


def test_a_suffix_of_video_does_not_make_text_a_video(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mimetypes, "guess_type", lambda name: ("video/mp2t", None))
    (tmp_path / "app.ts").write_text("let a = 1")
    (tmp_path / "film.ts").write_bytes(b"G@\x00\x10\xff\xff")
    part, video = (part_of(tmp_path / name) for name in ("app.ts", "film.ts"))
    assert part is not None and part["file_data"].startswith("data:text/plain;base64,")
    assert video is not None and video["type"] == "input_video"


def test_an_image_of_another_medium_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("hello")
    for given, kind in ((WAV, "audio/wav"), (PDF, "application/pdf"), (tmp_path / "a.txt", "text/plain")):
        with pytest.raises(ul.InvalidArgument, match=f"^{kind} is not an image; pass it as it is"):
            image(given)
    assert image(b"raw")["image_url"].startswith("data:application/octet-stream;")


def test_bytes_that_are_no_text_stay_of_an_unknown_type() -> None:
    for raw in (b"\xff\xfe\x00", b"a\x00b"):
        assert ul.file(raw, filename="core")["file_data"].startswith("data:application/octet-stream;")


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_every_provider_takes_images_and_documents(protocol: str, tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    path.write_bytes(PDF)
    result = ul.Client(upstream(protocol)).responses.create(input=["What is this?", PNG, path])
    assert result.output_text
    assert not [loss for loss in result.losses if loss.fate == "lost" and not loss.path.endswith("/filename")]


def test_the_output_of_a_call_mixes_texts_and_media() -> None:
    call = {"type": "function_call", "call_id": "c", "name": "draw", "arguments": "{}"}
    output = {"type": "function_call_output", "call_id": "c", "output": ["Here.", PNG]}
    items = sent(input=["Draw.", call, output])["input"]
    assert items[2]["output"] == [{"type": "input_text", "text": "Here."}, PICTURE]


def test_one_stop_sequence_needs_no_list() -> None:
    assert body_of(input="Hi", stop="END")["stop"] == body_of(input="Hi", stop=["END"])["stop"] == ["END"]


# ---- mistakes -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("given", [{}, {"input": None}, {"input": []}, {"instructions": "Be brief."}])
def test_a_request_without_input_is_refused(given: Any) -> None:
    error = refused(**given)
    assert error.path == "/input"
    assert "no input given; pass input=..., or go on from previous=" in error.reason


@pytest.mark.parametrize(
    "given",
    [
        {"previous_response_id": "resp_1"},
        {"conversation": "conv_1"},
        {"prompt": {"id": "p"}},
        {"extra_body": {"input": "Hi"}},
    ],
)
def test_unless_the_provider_has_it(given: Any) -> None:
    assert sent(**given).items() >= given.get("extra_body", given).items()


def test_a_result_to_go_on_from_is_input() -> None:
    first = ul.Client(model="local/echo").responses.create(input="Hello")
    assert len(sent(previous=first)["input"]) == 2


READ = "; input=unified_llm.read(body, protocol).input takes the messages of another protocol"


def test_the_messages_of_another_protocol_are_read_as_the_message_of_the_error_has_it() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "now", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": "Time?"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "noon"},
    ]
    client = ul.Client(model="local/echo")
    for wrong in (messages, messages[2:]):
        with pytest.raises(ul.InvalidBody, match=r"input=unified_llm\.read\(body, protocol\)\.input takes"):
            client.responses.create(input=wrong)
    read = ul.read({"model": "m", "messages": messages}, "openai-chat").input
    assert client.responses.create(input=read).output_text == "now: noon"


def test_a_conversation_that_was_saved_as_text_is_refused_with_what_to_do() -> None:
    client = ul.Client(model="local/echo")
    saved = json.dumps(client.responses.create(input="One.").item_nodes)
    with pytest.raises(ul.InvalidBody, match=r"/previous: .* a saved text needs json\.loads\(\)"):
        client.responses.create(input="Two.", previous=saved)
    assert len(client.responses.create(input="Two.", previous=json.loads(saved)).items) == 4


@pytest.mark.parametrize(
    ("given", "path", "told"),
    [
        (7, "/input", "should be text, an item, a part, bytes, a path, an image or a result, not int"),
        ([7], "/input/0", "not int"),
        ([None], "/input/0", "not NoneType"),
        (io.BytesIO(PNG), "/input", "not BytesIO"),
        ([["a"]], "/input/0", "not list"),
        ([b"\x00\x01"], "/input/0", "bytes of an unknown format; pass unified_llm.file(data, media_type=...)"),
        ([Path("/nowhere/a.png")], "/input/0", "the file cannot be read"),
        ([{"type": "mesage", "content": "x"}], "/input/0/type", "unknown item type 'mesage'; did you mean 'message'"),
        ([{"type": "image_url"}], "/input/0/type", "did you mean 'input_image'"),
        ([{"type": "tool_use"}], "/input/0/type", "did you mean 'function_call'"),
        ([{"rol": "user", "content": "x"}], "/input/0/rol", "unknown field 'rol'; did you mean 'role'"),
        ([{"text": "x"}], "/input/0/type", "an item has a type, or it is a message with a role"),
        (
            [{"role": "usr", "content": "x"}],
            "/input/0/role",
            "none of the roles user, assistant, system, developer; did you mean 'user'",
        ),
        ([{"role": "model", "content": "x"}], "/input/0/role", f"did you mean 'assistant'?{READ}"),
        ([{"role": "tool", "content": "x"}], "/input/0/role", f"an item of type 'function_call_output'?{READ}"),
        ([{"role": "user", "contents": "x"}], "/input/0/contents", "did you mean 'content'"),
        ([{"role": "user", "parts": [{"text": "x"}]}], "/input/0/parts", f"did you mean 'content'?{READ}"),
        ([{"role": "assistant", "tool_calls": [{}]}], "/input/0/tool_calls", f"an item of type 'function_call'?{READ}"),
        ([{"role": "user", "content": 7}], "/input/0/content", "should be a string or a list of parts, but int"),
        ([{"role": "user", "content": [7]}], "/input/0/content/0", "not a part, but int"),
        ([{"role": "user", "content": ["x", {"text": "x"}]}], "/input/0/content/1/type", "it has no type"),
        ([{"role": "user", "content": [{"type": "imput_text"}]}], "/input/0/content/0/type", "mean 'input_text'"),
        (
            [{"role": "user", "content": [{"type": "input_text", "textt": "x"}]}],
            "/input/0/content/0/textt",
            "mean 'text'",
        ),
        ([{"role": "user", "content": ["x", b"\x00"]}], "/input/0/content/1", "bytes of an unknown format"),
        (["x", {"type": "input_image", "image_ur": "x"}], "/input/1/image_ur", "did you mean 'image_url'"),
    ],
)
def test_what_is_not_an_input_is_refused_with_the_nearest_name(given: Any, path: str, told: str) -> None:
    error = refused(input=given)
    assert error.path.startswith(path)
    assert told in str(error)


def test_a_field_that_looks_like_none_is_new_and_is_reported() -> None:
    item = {"role": "user", "content": "x", "new_thing": 1, "tool_calls": None}
    canned = Canned("openai-responses", response(message("Hi")))
    result = ul.Client(canned.upstream).responses.create(input=[item])
    assert ("/input/0/new_thing", "lost") in [(loss.path, loss.fate) for loss in result.losses]


def test_items_that_were_read_from_a_wire_keep_what_only_it_has() -> None:
    body = {"input": [{"type": "message", "role": "user", "content": [{"type": "new_part", "x": 1}]}]}
    assert sent(input=ul.read(body, "openai-responses").input)["input"] == body["input"]


def test_helpers_take_urls() -> None:
    parts = [image("https://example.org/a.png"), file("https://example.org/a.pdf")]
    (item,) = sent(input=["What is this?", *parts])["input"]
    assert item["content"][1:] == parts
