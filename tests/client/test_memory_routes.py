"""What an official SDK does with an answer by its id, over upstreams that keep none: the transport remembers."""

from __future__ import annotations

import asyncio
from email.utils import parsedate_to_datetime
from typing import Any

import openai
import pytest
from google import genai

import unified_llm as ul
from upstreams import Canned

UPSTREAM = "local/echo:anthropic-messages"


def sdk(**options: Any) -> openai.OpenAI:
    return openai.OpenAI(api_key="unused", http_client=ul.http_client(UPSTREAM, **options), max_retries=0)


def test_a_response_is_retrieved_as_it_was_sent() -> None:
    client = sdk()
    sent = client.responses.create(model="m", input="Hi")
    assert client.responses.retrieve(sent.id) == sent
    assert sent.output_text == "Hi"


def test_a_streamed_response_is_retrieved_whole_and_as_a_stream() -> None:
    client = sdk()
    events = list(client.responses.create(model="m", input="Hello there", stream=True))
    done = events[-1]
    assert done.type == "response.completed"
    assert client.responses.retrieve(done.response.id) == done.response
    again = list(client.responses.retrieve(done.response.id, stream=True))
    assert again == events
    behind = list(client.responses.retrieve(done.response.id, stream=True, starting_after=3))
    assert behind == events[4:]


def test_a_whole_response_is_retrieved_as_a_stream() -> None:
    client = sdk()
    sent = client.responses.create(model="m", input="Hi")
    events = list(client.responses.retrieve(sent.id, stream=True))
    assert events[0].type == "response.created"
    assert events[-1].type == "response.completed"
    assert events[-1].response.output_text == "Hi"


def test_the_input_of_a_response_is_listed_newest_first_with_what_came_before() -> None:
    client = sdk()
    first = client.responses.create(model="m", input="One")
    second = client.responses.create(model="m", input="Two", previous_response_id=first.id)
    page = client.responses.input_items.list(second.id)
    texts = [item.content[0].text for item in page.data]  # type: ignore[union-attr]
    assert texts == ["Two", "One", "One"]
    assert [item.role for item in page.data] == ["user", "assistant", "user"]  # type: ignore[union-attr]
    assert all(item.id and item.status == "completed" for item in page.data)  # type: ignore[union-attr]
    assert not page.has_more
    oldest = client.responses.input_items.list(second.id, order="asc", limit=1)
    assert [item.id for item in oldest.data] == [page.data[2].id]
    assert oldest.has_more
    assert [item.id for item in oldest] == [item.id for item in reversed(page.data)], "pages are followed"


def test_a_deleted_response_is_gone() -> None:
    client = sdk()
    sent = client.responses.create(model="m", input="Hi")
    client.responses.delete(sent.id)
    for ask in (client.responses.retrieve, client.responses.delete, client.responses.input_items.list):
        with pytest.raises(openai.NotFoundError, match=rf"Response with id '{sent.id}' not found"):
            ask(sent.id)
    with pytest.raises(openai.BadRequestError) as error:
        client.responses.create(model="m", input="On", previous_response_id=sent.id)
    assert error.value.code == "previous_response_not_found"


def test_what_is_not_stored_is_not_found() -> None:
    client = sdk()
    sent = client.responses.create(model="m", input="Hi", store=False)
    with pytest.raises(openai.NotFoundError):
        client.responses.retrieve(sent.id)


def test_without_an_upstream_of_its_own_an_unknown_response_is_not_found() -> None:
    client = openai.OpenAI(api_key="unused", http_client=ul.http_client(), max_retries=0)
    sent = client.responses.create(model="local/echo", input="Hi")
    with pytest.raises(openai.NotFoundError, match="Response with id 'resp_none' not found"):
        client.responses.retrieve("resp_none")
    assert sent.output_text == "Hi"


def test_only_background_work_is_cancelled() -> None:
    client = sdk()
    sent = client.responses.create(model="m", input="Hi")
    with pytest.raises(openai.BadRequestError, match="only background work"):
        client.responses.cancel(sent.id)
    done = client.responses.create(model="m", input="Hello", background=True)
    assert client.responses.cancel(done.id) == done


@pytest.mark.parametrize(
    "protocol",
    ["anthropic-messages", "google-interactions", "openai-chat", "google-generate-content", "amazon-converse"],
)
def test_background_work_over_another_protocol_is_awaited(protocol: str) -> None:
    """The memory has what the client was sent: an unfinished answer would stay unfinished however often it is read."""
    losses: list[ul.Loss] = []
    http = ul.http_client(f"local/echo:{protocol}", on_losses=losses.extend)
    client = openai.OpenAI(api_key="unused", http_client=http, max_retries=0)
    sent = client.responses.create(model="m", input="Hi", background=True)
    assert (sent.status, sent.background, sent.output_text) == ("completed", True, "Hi")
    assert client.responses.retrieve(sent.id) == sent
    assert [loss.fate for loss in losses if loss.path == "/background"] == ["emulated"]
    client.responses.create(model="m", input="Hi", background=False)
    assert len([loss for loss in losses if loss.path == "/background"]) == 1


@pytest.mark.parametrize("protocol", ["anthropic-messages", "amazon-converse"])
def test_an_answer_that_the_memory_keeps_is_not_called_unstored(protocol: str) -> None:
    losses: list[ul.Loss] = []
    http = ul.http_client(f"local/echo:{protocol}", on_losses=losses.extend)
    client = openai.OpenAI(api_key="unused", http_client=http, max_retries=0)
    sent = client.responses.create(model="m", input="Hi", store=True)
    assert client.responses.retrieve(sent.id) == sent
    found = [loss for loss in losses if loss.path == "/store"]
    assert [(loss.fate, loss.capability) for loss in found] == [("emulated", "state.store")]
    assert "memory of this process" in found[0].detail
    client.responses.create(model="m", input="Hi", store=False)
    assert "lost" not in [loss.fate for loss in losses if loss.path == "/store"]


def test_a_completion_that_nothing_keeps_is_called_unstored() -> None:
    losses: list[ul.Loss] = []
    http = ul.http_client("local/echo:anthropic-messages", on_losses=losses.extend)
    client = openai.OpenAI(api_key="unused", http_client=http, max_retries=0)
    client.chat.completions.create(model="m", messages=[{"role": "user", "content": "Hi"}], store=True)
    assert [loss.fate for loss in losses if loss.path == "/store"] == ["lost"]


def test_background_work_over_its_own_protocol_is_left_to_the_upstream() -> None:
    under_way = {"id": "resp_1", "object": "response", "created_at": 1, "model": "m", "output": [], "status": "queued"}
    canned = Canned(under_way, protocol="openai-responses")
    client = openai.OpenAI(api_key="unused", http_client=ul.http_client(canned.upstream), max_retries=0)
    assert client.responses.create(model="m", input="Hi", background=True).status == "queued"
    assert canned.sent[0]["background"] is True


def test_background_work_of_interactions_over_responses_is_awaited() -> None:
    client = interactions("local/echo:openai-responses")
    sent = client.create(model="m", input="Hi", background=True)
    assert sent.status == client.get(sent.id).status == "completed"


def test_the_answers_of_a_caller_are_for_no_other() -> None:
    client = sdk()
    sent = client.responses.create(model="m", input="Hi", extra_headers={"x-unified-llm-caller": "a"})
    with pytest.raises(openai.NotFoundError):
        client.responses.retrieve(sent.id)
    assert client.responses.retrieve(sent.id, extra_headers={"x-unified-llm-caller": "a"}) == sent


def interactions(upstream: str = UPSTREAM) -> Any:
    options = genai.types.HttpOptions(httpx_client=ul.http_client(upstream))
    return genai.Client(api_key="unused", http_options=options).interactions


@pytest.mark.parametrize("stream", [False, True])
def test_an_interaction_is_retrieved_and_deleted(stream: bool) -> None:
    client = interactions()
    found = client.create(model="m", input="Hi", stream=stream)
    id_ = list(found)[-1].interaction.id if stream else found.id
    got = client.get(id_)
    assert got.id == id_
    assert got.status == "completed"
    said = [part.text for step in got.steps for part in getattr(step, "content", None) or () if part.text]
    assert said[-1:] == ["Hi"]
    client.delete(id_)
    with pytest.raises(Exception, match=f"Interaction with id '{id_}' not found") as error:
        client.get(id_)
    assert getattr(error.value, "code", None) == 404 or "404" in str(error.value)
    with pytest.raises(Exception, match=f"Previous interaction with id '{id_}' not found"):
        client.create(model="m", input="On", previous_interaction_id=id_)


def test_every_answer_of_a_transport_is_dated() -> None:
    body = {"model": "m", "input": "Hi"}
    with ul.http_client(UPSTREAM) as http:
        answers = [http.post("http://any/v1/responses", json=body), http.get("http://any/v1/responses/resp_none")]
        answers.append(http.post("http://any/v1/responses", json={**body, "stream": True}))

    async def main() -> Any:
        async with ul.async_http_client(UPSTREAM) as http:
            return await http.post("http://any/v1/responses", json=body)

    answers.append(asyncio.run(main()))
    assert [each.status_code for each in answers] == [200, 404, 200, 200]
    for each in answers:
        assert parsedate_to_datetime(each.headers["date"]).year > 2020
