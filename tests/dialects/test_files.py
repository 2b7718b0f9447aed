"""The files of dialects: read when they are named, checked when they are read, listed on one page."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import _dialects
import unified_llm as ul
from unified_llm.engine.registry import adapter, dialect
from unified_llm_openai.dialects import FOLDER, Dialects, load
from unified_llm_openai.dialects.schema import ABOUT, KEYS, SHAPES, checked

ROOT = Path(__file__).parents[2]
FILES = sorted(path.stem for path in FOLDER.glob("*.toml"))
VENDORS = """openai azure deepseek xai openrouter groq mistral moonshot qwen zai minimax together fireworks cerebras
    perplexity huggingface copilot google anthropic vllm sglang ollama lmstudio llamacpp tgi
    transformers llama-cpp-python""".split()
ABOUT_X = {"title": "X", "sources": ["https://x.example"], "as_of": "2026-11-21"}


@pytest.mark.parametrize("vendor", VENDORS)
def test_every_vendor_has_a_dialect_of_chat(vendor: str) -> None:
    assert vendor in Dialects("chat")
    done = ul.convert(
        {"messages": [{"role": "user", "content": "q"}]}, source="openai-chat", target=f"openai-chat:{vendor}"
    )
    assert done.value["messages"] == [{"role": "user", "content": "q"}]


@pytest.mark.parametrize("name", FILES)
def test_a_file_says_where_its_facts_are_from(name: str) -> None:
    file = load(name)
    assert file is not None
    assert all(source.startswith("https://") for source in file["sources"])
    assert len(file["as_of"]) == 10 and file["as_of"] >= "2026-11-21"


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"chat": {"color": "red"}}, r"\[chat\] color: there is no such key"),
        ({"chat": {"penalties": True}}, r"\[chat\] penalties: there is no such key"),  # one of Responses
        ({"chat": {"refuses": "n"}}, r"refuses: 'n' is not of the shape 'texts'"),
        ({"chat": {"refuses": []}}, "not of the shape"),
        ({"chat": {"names": True}}, "not of the shape 'no'"),
        ({"chat": {"file_urls": False}}, "not of the shape 'yes'"),
        ({"chat": {"most": {"n": "1"}}}, "not of the shape 'numbers'"),
        ({"chat": {"max_tokens": "limit"}}, "'limit' is none of max_tokens, max_completion_tokens"),
        ({"chat": {"finish": {"odd": "stopped"}}}, "'stopped' is none of stop"),
        ({"chat": {"opaque": ["signature"]}}, "'signature' is none of"),
        ({"chat": {"repair": {"neat": True}}}, "repair: there are no rules neat"),
        ({"responses": {"media": "input_video"}}, "not of the shape"),
        ({"color": "red", "chat": {}}, "color: there is no such key"),
        ({}, r"neither \[chat\] nor \[responses\]"),
    ],
)
def test_what_a_file_may_not_say(table: dict[str, object], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        checked("x", {**ABOUT_X, **table})


@pytest.mark.parametrize("key", [*ABOUT])
def test_a_file_says_all_there_is_to_say_about_itself(key: str) -> None:
    assert checked("x", {**ABOUT_X, "chat": {}})
    with pytest.raises(ValueError, match=f"{key} is missing"):
        checked("x", {**{name: value for name, value in ABOUT_X.items() if name != key}, "chat": {}})


def test_every_key_has_a_shape_and_a_sentence() -> None:
    for key in (*ABOUT.values(), *(key for keys in KEYS.values() for key in keys.values())):
        assert key.shape in SHAPES and key.says.endswith(".")
    assert {key.shape for keys in KEYS.values() for key in keys.values()} | {"text"} == SHAPES.keys()


def test_an_unknown_dialect_is_an_error_that_names_those_there_are() -> None:
    with pytest.raises(ul.UnknownProtocol, match=r"unknown dialect 'nowhere' for .*: anthropic, .*deepseek"):
        dialect("openai-chat:nowhere")
    for name in ("../chat/tables", "schema", ""):
        assert name not in Dialects("chat")
    assert "mistral" not in Dialects("responses")  # has a file, and no Responses


def test_a_dialect_is_not_changed_by_who_uses_it() -> None:
    with pytest.raises(TypeError):
        adapter("openai-chat").dialects["groq"]["names"] = True  # type: ignore[index]


def test_nothing_is_parsed_until_a_dialect_is_named() -> None:
    code = """if True:
        import sys
        import unified_llm as ul
        body = {"messages": [{"role": "user", "content": "q"}]}
        ul.convert(body, source="openai-chat", target="openai-responses")
        assert "tomllib" not in sys.modules and "unified_llm_openai.dialects.schema" not in sys.modules
        ul.convert(body, source="openai-chat", target="openai-chat:groq")
        from unified_llm_openai import dialects
        assert set(dialects._files) == {"groq"}
    """
    paths = [str(ROOT), str(ROOT / "adapters")]
    done = subprocess.run([sys.executable, "-c", f"import sys; sys.path[:0] = {paths!r}\n{code}"], capture_output=True)
    assert done.returncode == 0, done.stderr.decode()


def test_the_page_is_current() -> None:
    assert _dialects.PAGE.read_text("utf-8") == _dialects.page(), "run: python docs/_dialects.py"
