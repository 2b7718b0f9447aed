"""Results of hosted tools between protocols that keep them apart and the one that holds them in their calls.

What a tool gave arrives, a failure is one everywhere, and a result belongs to the call that it answers.
"""

from __future__ import annotations

from typing import Any

import pytest

import unified_llm as ul

RESPONSES, MESSAGES = "openai-responses", "anthropic-messages"
GENERATE, INTERACTIONS = "google-generate-content", "google-interactions"
Node = dict[str, Any]


def of_claude(*blocks: Node) -> Node:
    head = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": list(blocks)}
    usage = {"input_tokens": 3, "output_tokens": 2}
    return {**head, "stop_reason": "end_turn", "stop_sequence": None, "usage": usage}


def of_openai(*items: Node) -> Node:
    return {"id": "r", "object": "response", "created_at": 1, "status": "completed", "model": "m", "output": [*items]}


def of_google(*steps: Node) -> Node:
    return {"id": "i", "object": "interaction", "status": "completed", "model": "m", "steps": list(steps)}


def convert(body: Node, source: str, target: str) -> ul.Converted:
    return ul.convert(body, source=source, target=target, kind="response")


def frames(body: Node, source: str, target: str) -> list[Node]:
    events = list(ul.write_stream(ul.decompose(ul.read(body, source, "response")), source))
    return [event["data"] for event in ul.convert_stream(iter(events), source=source, target=target)]


def remote(id_: str, *texts: str, bad: bool = False) -> tuple[Node, Node]:
    content = [{"type": "text", "text": text} for text in texts]
    return (
        {"type": "mcp_tool_use", "id": id_, "name": "find", "server_name": "harbor", "input": {"n": 1}},
        {"type": "mcp_tool_result", "tool_use_id": id_, "is_error": bad, "content": content},
    )


SEARCH = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "sky"}}
HIT = {"type": "web_search_result", "url": "https://a.example", "title": "A", "encrypted_content": "RW5j"}


def results(content: Any) -> Node:
    return {"type": "web_search_tool_result", "tool_use_id": "s1", "content": content}


FAILED = results({"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"})


# ---- into the call --------------------------------------------------------------------------------------------------


def test_what_a_remote_tool_gave_is_the_output_of_its_call() -> None:
    body = of_claude(*remote("m1", "two", "berths"), *remote("m2", "no such pier", bad=True))
    done = convert(body, MESSAGES, RESPONSES)
    first, second = done.value["output"]
    assert (first["type"], first["output"], first["status"]) == ("mcp_call", "two\nberths", "completed")
    assert second["status"] == "failed" and "output" not in second
    assert second["error"] == {
        "type": "mcp_tool_execution_error", "content": [{"type": "text", "text": "no such pier"}],
    }  # fmt: skip
    assert not [loss for loss in done.losses if loss.fate == "lost"]


def test_a_stream_ends_a_remote_call_with_its_result() -> None:
    body = of_claude(*remote("m1", "two berths"), *remote("m2", "gone", bad=True), {"type": "text", "text": "Done."})
    data = frames(body, MESSAGES, RESPONSES)
    ends = [each["item"] for each in data if each["type"] == "response.output_item.done"]
    assert [(each["type"], each.get("status")) for each in ends] == [
        ("mcp_call", "completed"), ("mcp_call", "failed"), ("message", "completed"),
    ]  # fmt: skip
    assert ends[0]["output"] == "two berths"
    assert data[-1]["response"]["output"] == ends
    kinds = [each["type"] for each in data if each.get("output_index") == 0]
    assert kinds.index("response.mcp_call_arguments.done") < kinds.index("response.output_item.done")


def test_a_remote_call_without_a_result_ends_before_the_answer_does() -> None:
    call, _ = remote("m1")
    ends = [each["type"] for each in frames(of_claude(call), MESSAGES, RESPONSES)]
    assert ends[-2:] == ["response.output_item.done", "response.completed"]


def test_the_pages_of_a_search_are_its_sources() -> None:
    done = convert(of_claude(SEARCH, results([HIT])), MESSAGES, RESPONSES)
    (call,) = done.value["output"]
    assert call["action"] == {
        "type": "search", "query": "sky", "sources": [{"type": "url", "url": "https://a.example"}],
    }  # fmt: skip
    lost = {loss.path for loss in done.losses if loss.fate == "lost" and loss.path.startswith("/content")}
    assert lost == {"/content/1/content/0/title", "/content/1/content/0/encrypted_content"}


def test_a_search_that_failed_is_a_failure_in_responses() -> None:
    done = convert(of_claude(SEARCH, FAILED), MESSAGES, RESPONSES)
    (call,) = done.value["output"]
    assert (call["type"], call["status"]) == ("web_search_call", "failed")
    fates = {loss.path: loss.fate for loss in done.losses}
    assert fates["/content/1/content/error_code"] == "approximated"
    ends = [each["item"] for each in frames(of_claude(SEARCH, FAILED), MESSAGES, RESPONSES) if "item" in each]
    assert ends[-1]["status"] == "failed"


# ---- out of the call ------------------------------------------------------------------------------------------------

CALL = {"type": "mcp_call", "id": "m1", "name": "find", "server_label": "harbor", "arguments": "{}", "output": None}


@pytest.mark.parametrize(
    ("error", "text"),
    [
        ({"type": "mcp_tool_execution_error", "content": [{"type": "text", "text": "no pier"}]}, "no pier"),
        ({"type": "http_error", "code": 502, "message": "down"}, '{"type":"http_error","code":502,"message":"down"}'),
        ("no pier", "no pier"),
    ],
)
def test_the_error_of_a_remote_tool_is_the_text_of_its_result(error: Any, text: str) -> None:
    body = of_openai({**CALL, "status": "failed", "error": error})
    done = convert(body, RESPONSES, MESSAGES)
    result = done.value["content"][1]
    said = [{"type": "text", "text": text}]
    assert (result["type"], result["content"], result["is_error"]) == ("mcp_tool_result", said, True)
    assert any(loss.path.startswith("/output/0/error") and loss.fate == "approximated" for loss in done.losses)
    step = convert(body, RESPONSES, INTERACTIONS).value["steps"][1]
    assert step["result"] == f"<tool_error>{text}</tool_error>"


def test_a_search_that_failed_in_its_call_is_a_failure_apart() -> None:
    action = {"type": "search", "query": "sky"}
    body = of_openai({"type": "web_search_call", "id": "w1", "status": "failed", "action": action})
    done = convert(body, RESPONSES, MESSAGES)
    assert done.value["content"][1]["content"] == {"type": "web_search_tool_result_error", "error_code": "unavailable"}
    assert {loss.path: loss.fate for loss in done.losses}["/output/0/status"] == "approximated"
    call, result = convert(body, RESPONSES, INTERACTIONS).value["steps"]
    assert (result["call_id"], result["is_error"]) == (call["id"], True)
    assert (
        len(convert(of_openai({**body["output"][0], "status": "completed"}), RESPONSES, MESSAGES).value["content"]) == 1
    )


# ---- apart on both sides --------------------------------------------------------------------------------------------


def test_a_search_that_failed_is_a_failure_in_interactions() -> None:
    step = convert(of_claude(SEARCH, FAILED), MESSAGES, INTERACTIONS).value["steps"][1]
    assert (step["type"], step["is_error"]) == ("google_search_result", True)
    step = convert(of_claude(SEARCH, results([HIT])), MESSAGES, INTERACTIONS).value["steps"][1]
    assert "is_error" not in step


@pytest.mark.parametrize(
    ("call", "result", "code"),
    [
        ({"type": "google_search_call", "arguments": {"queries": ["sky"]}}, "google_search_result", "unavailable"),
        ({"type": "url_context_call", "arguments": {"urls": ["u"]}}, "url_context_result", "url_not_accessible"),
    ],
)
def test_a_step_that_failed_has_an_error_code_in_messages(call: Node, result: str, code: str) -> None:
    body = of_google({**call, "id": "c"}, {"type": result, "call_id": "c", "is_error": True, "result": []})
    found = convert(body, INTERACTIONS, MESSAGES).value["content"][1]["content"]
    assert (found["type"].endswith("_tool_result_error"), found["error_code"]) == (True, code)


GROUNDED = {
    "candidates": [{
        "content": {"role": "model", "parts": [{"text": "Blue."}]}, "finishReason": "STOP", "index": 0,
        "groundingMetadata": {"webSearchQueries": ["sky", "color"], "searchEntryPoint": {"renderedContent": "<div>"}},
    }]
}  # fmt: skip


def test_a_result_without_an_id_has_that_of_the_call_before_it() -> None:
    _, call, result = convert(GROUNDED, GENERATE, INTERACTIONS).value["steps"]
    assert (call["type"], result["type"]) == ("google_search_call", "google_search_result")
    assert result["call_id"] == call["id"]
    starts = [each["step"] for each in frames(GROUNDED, GENERATE, INTERACTIONS) if "step" in each]
    assert starts[2]["call_id"] == starts[1]["id"] == call["id"]


def test_several_queries_of_one_search_are_one_query_of_it() -> None:
    done = convert(GROUNDED, GENERATE, MESSAGES)
    assert done.value["content"][1]["input"] == {"query": "sky\ncolor"}
    path = "/candidates/0/groundingMetadata/webSearchQueries"
    assert {loss.path: loss.fate for loss in done.losses}[path] == "approximated"


# ---- a shell --------------------------------------------------------------------------------------------------------


def shell(place: Node, *results: Node) -> Node:
    action = {"commands": ["ls", "pwd"]}
    call = {"type": "shell_call", "id": "sh", "call_id": "c1", "status": "completed", "action": action}
    return of_openai({**call, "environment": place}, *results)


RAN = {
    "type": "shell_call_output", "id": "so", "call_id": "c1", "status": "completed",
    "output": [{"stdout": "a", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}],
}  # fmt: skip


def test_no_client_is_asked_to_run_what_ran_in_a_container() -> None:
    body = shell({"type": "container_reference", "container_id": "cntr_1"}, RAN)
    value = convert(body, RESPONSES, MESSAGES).value
    call, result = value["content"]
    assert (call["type"], call["name"], call["input"]) == (
        "server_tool_use", "bash_code_execution", {"command": "ls\npwd"},
    )  # fmt: skip
    assert result == {
        "type": "bash_code_execution_tool_result", "tool_use_id": "c1", "content": {
            "type": "bash_code_execution_result", "stdout": "a", "stderr": "", "return_code": 0, "content": [],
        },
    }  # fmt: skip
    assert value["stop_reason"] == "end_turn"
    starts = [each["content_block"] for each in frames(body, RESPONSES, MESSAGES) if "content_block" in each]
    assert [each["type"] for each in starts] == ["server_tool_use", "bash_code_execution_tool_result"]


def test_a_client_is_asked_to_run_the_commands_of_its_own_shell() -> None:
    value = convert(shell({"type": "local"}), RESPONSES, MESSAGES).value
    assert (value["content"][0]["type"], value["stop_reason"]) == ("tool_use", "tool_use")


@pytest.mark.parametrize("streamed", [False, True])
def test_the_id_that_pairs_a_result_with_the_call_it_stands_in_is_reported(streamed: bool) -> None:
    body = of_claude(SEARCH, results([HIT]))
    if streamed:
        events = list(ul.write_stream(ul.decompose(ul.read(body, MESSAGES, "response")), MESSAGES))
        stream = ul.convert_stream(iter(events), source=MESSAGES, target=RESPONSES)
        list(stream)
        losses, end = stream.losses, "/content_block"
    else:
        losses, end = convert(body, MESSAGES, RESPONSES).losses, "/content/1"
    told = [loss for loss in losses if loss.detail == "stands inside the call"]
    assert [(loss.capability, loss.fate) for loss in told] == [("tools.call_id", "approximated")]
    assert told[0].path.endswith(f"{end}/tool_use_id")


def test_a_result_that_failed_is_not_completed() -> None:
    """A stored interaction may begin with the results that it was given, whose calls are in the one before."""
    body = of_google({"type": "function_result", "call_id": "c", "is_error": True, "result": "no pier"})
    done = convert(body, INTERACTIONS, RESPONSES)
    result = done.value["output"][0]
    assert (result["type"], result["output"], result["status"]) == ("function_call_output", "no pier", "incomplete")
    assert {loss.path: loss.fate for loss in done.losses}["/steps/0/is_error"] == "approximated"
    ends = [each["item"] for each in frames(body, INTERACTIONS, RESPONSES) if "item" in each]
    assert ends[-1]["status"] == "incomplete"


# ---- a shell of the provider's, and its result, in the next request -------------------------------------------------

LISTED = {"type": "bash_code_execution_result", "stdout": "a", "stderr": "", "return_code": 0, "content": []}
BASH = (
    {"type": "server_tool_use", "id": "s2", "name": "bash_code_execution", "input": {"command": "ls"}},
    {"type": "bash_code_execution_tool_result", "tool_use_id": "s2", "content": LISTED},
    {"type": "text", "text": "One file."},
)


def test_the_result_of_a_shell_at_the_provider_is_in_the_next_request() -> None:
    output = ul.read(of_claude(*BASH), MESSAGES, "response").output
    first, last = ({"type": "message", "role": "user", "content": text} for text in ("Look.", "And now?"))
    again = ul.write({"model": "m", "input": [first, *output, last]}, MESSAGES, "request")
    assert again.value["messages"][1]["content"] == [*BASH]
    assert not [loss for loss in again.losses if loss.fate == "lost"]


@pytest.mark.parametrize("target", [RESPONSES, GENERATE, INTERACTIONS])
def test_a_client_gives_back_what_a_shell_at_the_provider_did_once(target: str) -> None:
    shown = ul.convert(of_claude(*BASH), source=MESSAGES, target=target, kind="response", secret="s").value
    if target == GENERATE:
        asked = [{"role": "user", "parts": [{"text": "Look."}]}, {"role": "user", "parts": [{"text": "And now?"}]}]
        body: Node = {"contents": [asked[0], shown["candidates"][0]["content"], asked[1]]}
    elif target == RESPONSES:
        body = {"input": [{"role": "user", "content": "Look."}, *shown["output"], {"role": "user", "content": "And?"}]}
    else:
        asked = [{"type": "user_input", "content": text} for text in ("Look.", "And now?")]
        body = {"input": [asked[0], *shown["steps"], asked[1]]}
    back = ul.convert({**body, "model": "m"}, source=target, target=MESSAGES, secret="s").value["messages"]
    assert [message["role"] for message in back] == ["user", "assistant", "user"]
    assert back[1]["content"] == [*BASH]


FETCH = {"type": "server_tool_use", "id": "s1", "name": "web_fetch", "input": {"url": "https://a.example"}}
UNREAD = {"type": "web_fetch_tool_result_error", "error_code": "url_not_accessible"}
NOT_FETCHED = {"type": "web_fetch_tool_result", "tool_use_id": "s1", "content": UNREAD}
URL_CALL = {"type": "url_context_call", "id": "s1", "arguments": {"urls": ["https://a.example"]}}
URL_RESULTS = [
    {"type": "url_context_result", "call_id": "s1", "result": [], "is_error": True},
    {"type": "url_context_result", "call_id": "s1", "result": [{"url": "https://a.example", "status": "error"}]},
]
PAGE = {"retrievedUrl": "https://a.example", "urlRetrievalStatus": "URL_RETRIEVAL_STATUS_ERROR"}


@pytest.mark.parametrize(
    ("source", "body"),
    [(MESSAGES, of_claude(FETCH, NOT_FETCHED)), *((INTERACTIONS, of_google(URL_CALL, each)) for each in URL_RESULTS)],
)
def test_a_page_that_was_not_fetched_has_the_status_of_an_error(source: str, body: Node) -> None:
    done = convert(body, source, GENERATE)
    assert done.value["candidates"][0]["urlContextMetadata"] == {"urlMetadata": [PAGE]}
    assert [loss.capability for loss in done.losses if loss.fate == "lost"] == ["tools.call_id"]
    last = frames(body, source, GENERATE)[-1]["candidates"][0]
    assert last["urlContextMetadata"] == {"urlMetadata": [PAGE]}


@pytest.mark.parametrize("result", URL_RESULTS)
def test_a_page_that_was_not_fetched_is_an_error_of_claude(result: Node) -> None:
    done = convert(of_google(URL_CALL, result), INTERACTIONS, MESSAGES)
    assert done.value["content"] == [FETCH, NOT_FETCHED]
    assert "lost" not in [loss.fate for loss in done.losses]
