"""Google's Agent Development Kit with its context cache and its artifacts, through a gateway to other providers."""

from __future__ import annotations

import asyncio
import base64
import json
from typing import Any

import pytest

from frameworks.world import World, foreign

adk = pytest.importorskip("google.adk", reason="google-adk is not installed: make frameworks")

PDF = b"%PDF-1.4 a small document"
protocols = pytest.mark.parametrize("protocol", [each for _, each in foreign("google-generate-content")])
through_the_gateway = pytest.mark.parametrize("way", ["gateway"], indirect=True)


def requests_of(client: Any) -> list[tuple[str, str, Any]]:
    """The requests that an HTTP client sends from now on: method, path, body."""
    sent: list[tuple[str, str, Any]] = []
    handle = client._transport.handle_async_request

    async def noted(request: Any) -> Any:
        sent.append((request.method, request.url.path, json.loads(request.content or b"{}")))
        return await handle(request)

    client._transport.handle_async_request = noted
    return sent


async def converse(world: World, http: Any, messages: list[Any], **app: Any) -> list[str]:
    """The final texts of an agent with tools."""
    from google import genai
    from google.adk.agents import LlmAgent
    from google.adk.apps import App
    from google.adk.models import Gemini
    from google.adk.runners import InMemoryRunner
    from google.adk.tools import load_artifacts
    from google.genai import types

    client = genai.Client(api_key="unused", http_options=types.HttpOptions(httpx_async_client=http))
    model = Gemini(model="any", client=client)
    instruction = "Be brief. " * 20
    tools = [*world.tools(), load_artifacts]
    agent = LlmAgent(name="guide", instruction=instruction, model=model, tools=tools)
    runner = InMemoryRunner(app=App(name="tests", root_agent=agent, **app))
    session = await runner.session_service.create_session(app_name="tests", user_id="you")
    texts = []
    for each in messages:
        parts = [types.Part(text=part) if isinstance(part, str) else part for part in each]
        message = types.Content(role="user", parts=parts)
        said = ""
        async for event in runner.run_async(user_id="you", session_id=session.id, new_message=message):
            for part in (event.content and event.content.parts) or ():
                said = part.text or said
        texts.append(said)
    await runner.close()
    return texts


def shown(protocol: str) -> str:
    """How an upstream shows a file: by its type, or by the name that OpenAI's APIs require and Gemini's lack."""
    return "document.pdf" if protocol.startswith("openai-") else "application/pdf"


@through_the_gateway
@protocols
@pytest.mark.filterwarnings("ignore:.*EXPERIMENTAL.*:UserWarning")
def test_the_context_cache(protocol: str) -> None:
    """From the second turn on it caches the history, and sends the rest with the name of the cache."""
    from google.adk.agents.context_cache_config import ContextCacheConfig

    world = World(protocol)
    http = world.ahttp()
    sent = requests_of(http)
    call = "[[call get_weather city=Oslo]] [[then]] It is: [[results]]"
    questions = [["The first question."], ["The second question."], [call]]
    texts = asyncio.run(converse(world, http, questions, context_cache_config=ContextCacheConfig(min_tokens=0)))
    assert texts[:2] == ["The first question.", "The second question."] and "Rain in Oslo" in texts[2]
    assert world.called == [("get_weather", "Oslo")]
    created = [body for method, path, body in sent if method == "POST" and path.endswith("/cachedContents")]
    assert created and "The first question." in json.dumps(created[0]), [path for _, path, _ in sent]
    cached = [body for _, path, body in sent if "enerateContent" in path and "cachedContent" in body]
    assert cached and all("systemInstruction" not in body and "tools" not in body for body in cached)
    assert all(each.status == 200 for each in world.service.seen)
    last = json.dumps(world.service.seen[-1].body)
    for known in ("The first question.", "The second question.", "get_weather", "Be brief."):
        assert known in last, "the upstream gets the whole prompt"
    assert "cachedContents/" not in last


@through_the_gateway
@protocols
@pytest.mark.filterwarnings("ignore:.*EXPERIMENTAL.*:UserWarning")
def test_an_artifact(protocol: str) -> None:
    """A file in a message becomes an artifact, which the agent loads with a tool."""
    from google.adk.plugins.save_files_as_artifacts_plugin import SaveFilesAsArtifactsPlugin
    from google.genai import types

    world = World(protocol)
    file = types.Part(inline_data=types.Blob(data=PDF, mime_type="application/pdf", display_name="report.pdf"))
    load = '[[call load_artifacts artifact_names=["report.pdf"]]] [[then]]'
    texts = asyncio.run(converse(world, world.ahttp(), [[load, file]], plugins=[SaveFilesAsArtifactsPlugin()]))
    assert "report.pdf" in texts[0] and shown(protocol) in texts[0], "ADK shows it to the model, which repeats it"
    assert all(each.status == 200 for each in world.service.seen)
    assert base64.b64encode(PDF).decode() in json.dumps(world.service.seen[-1].body)


@through_the_gateway
@protocols
def test_an_uploaded_file(protocol: str) -> None:
    import io

    from google import genai
    from google.genai import types

    world = World(protocol)
    http = world.ahttp()

    async def talk() -> list[str]:
        client = genai.Client(api_key="unused", http_options=types.HttpOptions(httpx_async_client=http))
        file = await client.aio.files.upload(file=io.BytesIO(PDF), config={"mime_type": "application/pdf"})
        part = types.Part.from_uri(file_uri=file.uri or "", mime_type="application/pdf")
        return await converse(world, http, [["Read.", part]])

    assert asyncio.run(talk()) == [f"Read. [file {shown(protocol)}]"]
    assert base64.b64encode(PDF).decode() in json.dumps(world.service.seen[-1].body)
