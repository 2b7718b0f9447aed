"""instructor: structured output in each of its modes, whole, in parts and as a sequence, with retries and images."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import anthropic
import instructor
import openai
from checks import KEY, OVERFLOWS, PIXEL, City, check, failure, run_all, status
from google import genai
from instructor import Mode
from instructor.processing.multimodal import Image
from pydantic import BaseModel, field_validator


def of_openai(mode: Mode) -> Any:
    return lambda url: instructor.from_openai(
        openai.OpenAI(base_url=f"{url}/v1", api_key=KEY, max_retries=0), mode=mode, model="gpt-5.5"
    )


def of_anthropic(mode: Mode) -> Any:
    return lambda url: instructor.from_anthropic(
        anthropic.Anthropic(base_url=url, api_key=KEY, max_retries=0),
        mode=mode,
        model="claude-opus-4-7",
        max_tokens=4000,
    )


def of_google(mode: Mode) -> Any:
    return lambda url: instructor.from_genai(
        genai.Client(api_key=KEY, http_options={"base_url": url}), mode=mode, model="gemini-3-pro-preview"
    )


CLIENTS = {
    **{f"instructor, Chat, {mode.name}": ("openai-chat", of_openai(mode)) for mode in (Mode.TOOLS, Mode.JSON_SCHEMA)},
    **{
        f"instructor, Responses, {mode.name}": ("openai-responses", of_openai(mode))
        for mode in (Mode.RESPONSES_TOOLS, Mode.RESPONSES_TOOLS_WITH_INBUILT_TOOLS)
    },
    **{
        f"instructor, Anthropic, {mode.name}": ("anthropic-messages", of_anthropic(mode))
        for mode in (Mode.ANTHROPIC_TOOLS, Mode.ANTHROPIC_REASONING_TOOLS)
    },
    **{
        f"instructor, Google, {mode.name}": ("google-generate-content", of_google(mode))
        for mode in (Mode.GENAI_TOOLS, Mode.GENAI_STRUCTURED_OUTPUTS)
    },
}
WHO = [{"role": "user", "content": "Who?"}]
ASKED: list[str] = []


class Doubted(BaseModel):
    """A person."""

    name: str

    @field_validator("name")
    @classmethod
    def known(cls, name: str) -> str:
        ASKED.append(name)
        if len(ASKED) == 1:
            raise ValueError("not that one")
        return name


class Part(BaseModel):
    """A part of a machine."""

    title: str
    parts: list[Part] = []


def tokens(usage: Any) -> list[int]:
    """Those of an answer of any SDK."""
    names = ("prompt_tokens", "completion_tokens", "input_tokens", "output_tokens", "prompt_token_count")
    return [found for name in names if (found := getattr(usage, name, None)) is not None]


def plain(client: Any) -> Any:
    done, raw = client.create_with_completion(response_model=City, messages=WHO)
    check(isinstance(done, City), done)
    counts = tokens(getattr(raw, "usage", None) or getattr(raw, "usage_metadata", None))
    check(counts and all(counts), raw)
    return raw


def system(client: Any) -> None:
    messages = [{"role": "system", "content": "Be nice."}, *WHO]
    check(isinstance(client.create(response_model=City, messages=messages, max_retries=0), City))


def partial(client: Any) -> None:
    pieces = list(client.create_partial(response_model=City, messages=WHO))
    check(pieces and pieces[-1].kind in ("capital", "village"), pieces)


def iterable(client: Any) -> None:
    found = list(client.create_iterable(response_model=City, messages=WHO))
    check(found and all(isinstance(each, City) for each in found), found)


def listed(client: Any) -> None:
    found = list(client.create(response_model=Iterable[City], messages=WHO))
    check(found and all(isinstance(each, City) for each in found), found)


def recursive(client: Any) -> None:
    check(isinstance(client.create(response_model=Part, messages=WHO), Part))


def retried(client: Any) -> None:
    ASKED.clear()
    done = client.create(response_model=Doubted, messages=WHO, max_retries=2)
    check(isinstance(done, Doubted) and len(ASKED) == 2, ASKED)


def image(client: Any) -> None:
    content = ["What is it?", Image.from_base64(f"data:image/png;base64,{PIXEL}")]
    done = client.create(response_model=City, messages=[{"role": "user", "content": content}])
    check(isinstance(done, City), done)


def reasoned(client: Any) -> Any:
    messages = [{"role": "user", "content": "[[reason Hm.]] Who?"}]
    done, raw = client.create_with_completion(response_model=City, messages=messages)
    check(isinstance(done, City), done)
    return raw


def refused(client: Any, upstream: str, protocol: str) -> None:
    def asked(prompt: str) -> Exception:
        messages = [{"role": "user", "content": prompt}]
        return failure(lambda: client.create(response_model=City, messages=messages, max_retries=1))

    for code in (401, 429):
        error = asked(f"[[error {code} message=told]]")
        check(status(error) == code and "told" in str(error), (type(error), error))
    error = asked(OVERFLOWS[upstream])
    check(status(error) == 400, (type(error), error))


run_all(
    CLIENTS,
    {
        each.__name__: each
        for each in (plain, system, partial, iterable, listed, recursive, retried, image, reasoned, refused)
    },
)
