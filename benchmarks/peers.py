"""The converters we are compared with, each called the way its own documentation calls it.

Where a library has no function for a conversion alone, two columns are printed: its public call, timed until the
translated bytes reach the HTTP client, and its inner function, timed bare.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

from benchmarks.answers import chat_response, responses_response, stream_data
from benchmarks.contenders import Contender, Ours, Run, Said, Unsupported, dumps, loads, overheard
from benchmarks.documents import CHAT, GENERATE, INTERACTIONS, MESSAGES, RESPONSES
from benchmarks.workloads import Workload


class Rosetta(Contender):
    """LLM-Rosetta's ConversionPipeline. It remembers tools and messages by content: equal bytes are its best case."""

    title, distribution, module = "LLM-Rosetta", "llm-rosetta", "llm_rosetta"
    names = {
        CHAT: "openai_chat", RESPONSES: "openai_responses", MESSAGES: "anthropic",
        GENERATE: "google", INTERACTIONS: "google_interactions",
    }  # fmt: skip

    def load(self) -> None:
        import llm_rosetta

        self.pipeline: Any = llm_rosetta.ConversionPipeline
        self.forget: Callable[[], None] = lambda: None

    def _pipeline(self, source: str, target: str) -> Any:
        return self.pipeline(self.names[source], self.names[target], force_conversion=True)

    def _opened(self, source: str, target: str) -> Any:
        """A pipeline that has seen a request, as converting an answer demands; made outside the measured part."""
        pipeline = self._pipeline(target, source)  # the client uses the answer's target
        user = [{"role": "user", "content": "x"}]
        pipeline.convert_request({"model": "m", "messages": user} if target == CHAT else {"model": "m", "input": user})
        return pipeline

    def request(self, source: str, target: str) -> Callable[[bytes], bytes]:
        forget = self.forget

        def step(body: bytes) -> bytes:
            forget()
            return dumps(self._pipeline(source, target).convert_request(loads(body)))

        return step

    def response(self, source: str, target: str, body: bytes) -> Run:
        pipeline = self._opened(source, target)
        return lambda: dumps(pipeline.convert_response(loads(body)))

    def stream(self, source: str, target: str, body: bytes) -> Run:
        pipeline, data = self._opened(source, target), stream_data(body)

        def run() -> bytes:
            processor, last = pipeline.create_stream_processor(), b""
            for line in data:
                for event in processor.process_chunk(loads(line)):
                    last = dumps(event)
            return last

        return run

    def report(self, source: str, target: str, body: bytes) -> Said:
        self.forget()
        pipeline = self._pipeline(source, target)
        value, said = overheard(lambda: pipeline.convert_request(loads(body)))
        return value, [*said, *map(str, pipeline.warnings)]


class RosettaCold(Rosetta):
    """The same with its cache emptied before each request, as for a conversation it has not seen."""

    title = "LLM-Rosetta, cold"

    def load(self) -> None:
        super().load()
        from llm_rosetta.converters.base.helpers.cache import clear_all_caches

        self.forget = clear_all_caches

    def runner(self, work: Workload) -> Run:
        if work.kind != "request":
            raise Unsupported("it caches requests only")
        return super().runner(work)


class Linguafranca(Contender):
    """linguafranca (Rust inside). Its Python functions take and give dicts, and print and parse JSON in between."""

    title, distribution, module = "linguafranca", "martian-linguafranca", "linguafranca"

    def load(self) -> None:
        import linguafranca

        self.lib: Any = linguafranca
        formats = linguafranca.FormatName
        self.names = {
            CHAT: formats.OPENAI_CHAT_COMPLETIONS, RESPONSES: formats.OPEN_RESPONSES,
            MESSAGES: formats.ANTHROPIC_MESSAGES,
        }  # fmt: skip

    def _formats(self, source: str, target: str) -> dict[str, Any]:
        if source not in self.names or target not in self.names:
            raise Unsupported("has no such conversion")
        return {"source_format": self.names[source], "target_format": self.names[target]}

    def request(self, source: str, target: str) -> Callable[[bytes], bytes]:
        convert, formats = self.lib.convert_request_json, self._formats(source, target)
        return lambda body: dumps(convert(loads(body), **formats).value)

    def response(self, source: str, target: str, body: bytes) -> Run:
        convert, formats = self.lib.convert_response_json, self._formats(source, target)
        return lambda: dumps(convert(loads(body), **formats).value)

    def stream(self, source: str, target: str, body: bytes) -> Run:
        convert, formats, data = self.lib.convert_response_stream_json, self._formats(source, target), stream_data(body)

        def run() -> bytes:
            out, last = convert((loads(line) for line in data), **formats), b""
            for event in out:
                last = dumps(event)
            out.take_warnings()
            return last

        return run

    def report(self, source: str, target: str, body: bytes) -> Said:
        done = self.lib.convert_request_json(loads(body), **self._formats(source, target))
        return done.value, [f"{warning.field} {warning.message}" for warning in done.warnings]


# Providers behind which LiteLLM has to translate.
_PREFIXES = {
    (CHAT, RESPONSES): "openai/responses/", (RESPONSES, CHAT): "groq/", (CHAT, MESSAGES): "anthropic/",
    (CHAT, GENERATE): "gemini/", (RESPONSES, MESSAGES): "anthropic/", (RESPONSES, GENERATE): "gemini/",
}  # fmt: skip


class LiteLLM(Contender):
    """LiteLLM's `completion` and `responses`, timed from the call until the translated bytes reach the HTTP client."""

    title, distribution, module = "LiteLLM", "litellm", "litellm"

    def load(self) -> None:
        os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # else its import fetches prices online
        import httpx
        import litellm
        from litellm.llms.custom_httpx.http_handler import HTTPHandler

        litellm.suppress_debug_info = True
        self.lib: Any = litellm
        self.arrived, self.sent = 0.0, b""

        def arrive(request: httpx.Request) -> httpx.Response:
            self.arrived, self.sent = time.perf_counter(), request.content
            answer = responses_response() if request.url.path.endswith("/responses") else chat_response()
            return httpx.Response(200, json=answer)

        self.client: Any = HTTPHandler(client=httpx.Client(transport=httpx.MockTransport(arrive)))

    def request(self, source: str, target: str) -> Callable[[bytes], bytes]:
        call = self.lib.completion if source == CHAT else self.lib.responses
        prefix = _PREFIXES.get((source, target))
        if prefix is None:
            raise Unsupported("has no such conversion")
        options = {"api_key": "none", "api_base": "http://127.0.0.1:9/v1", "client": self.client, "drop_params": True}

        def step(body: bytes) -> bytes:
            given, self.sent = loads(body), b""
            try:
                call(**given | {"model": prefix + given.get("model", "m")}, **options)
            except Exception:
                # The answer it was given is not always one that its provider would have sent.
                if not self.sent:
                    raise
            return self.sent

        return step

    def report(self, source: str, target: str, body: bytes) -> Said:
        if source in (MESSAGES, GENERATE) and target == CHAT:
            return overheard(lambda: self._read_by_adapter(source, loads(body)))
        step = self.request(source, target)
        value, said = overheard(lambda: step(body))
        return loads(value), said

    def _read_by_adapter(self, source: str, body: dict[str, Any]) -> Any:
        """What its adapters make of requests of other surfaces, before a provider's own translation."""
        if source == MESSAGES:
            from litellm.llms.anthropic.pass_through.adapters.transformation import LiteLLMAnthropicMessagesAdapter

            return LiteLLMAnthropicMessagesAdapter().translate_anthropic_to_openai(body)[0]
        from litellm.google_genai.adapters.transformation import GoogleGenAIAdapter

        contents, config = body.pop("contents"), body.pop("generationConfig", None)
        return GoogleGenAIAdapter().translate_generate_content_to_completion("m", contents, config, **body)

    def runner(self, work: Workload) -> Run:
        if work.kind != "request":
            raise Unsupported("its public calls do not convert an answer alone")
        if not work.back:
            return super().runner(work)
        there = self.request(work.source, work.target)
        back, sent = self.request(work.target, work.source), there(work.body)
        self.spent = 0.0

        def both() -> None:
            start = time.perf_counter()
            there(work.body)
            self.spent = self.arrived - start
            self.restart = time.perf_counter()
            back(sent)

        return both

    def seconds(self, run: Run, loops: int) -> float:
        total = 0.0
        for _ in range(loops):
            self.spent, self.restart = 0.0, time.perf_counter()
            run()
            total += self.spent + self.arrived - self.restart
        return total


class LiteLLMBridge(Contender):
    """The two inner classes of LiteLLM that rename the fields, and nothing around them; no public function is this."""

    title, distribution, module = "LiteLLM, inner bridge", "litellm", "litellm"

    def load(self) -> None:
        os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
        from litellm.completion_extras.litellm_responses_transformation import transformation as to_responses
        from litellm.responses.litellm_completion_transformation import streaming_iterator
        from litellm.responses.litellm_completion_transformation import transformation as to_chat
        from litellm.types.llms.openai import ResponsesAPIResponse
        from litellm.types.utils import ModelResponse, ModelResponseStream

        self.handler: Any = to_responses.LiteLLMResponsesTransformationHandler()
        self.chat_events: Any = to_responses.OpenAiResponsesToChatCompletionStreamIterator
        self.responses_events: Any = streaming_iterator.LiteLLMCompletionStreamingIterator
        self.config: Any = to_chat.LiteLLMCompletionResponsesConfig
        self.resource: Any = ResponsesAPIResponse
        self.completion: Any = ModelResponse
        self.chunk: Any = ModelResponseStream
        self.log = SimpleNamespace()

    def _value(self, source: str, body: dict[str, Any]) -> dict[str, Any]:
        model = body.pop("model")
        if source == RESPONSES:
            chat: dict[str, Any] = self.config.transform_responses_api_request_to_chat_completion_request(
                model=model, input=body.pop("input"), responses_api_request=body
            )
            return chat
        value: dict[str, Any] = self.handler.transform_request(
            model=model, messages=body.pop("messages"), optional_params=body, litellm_params={}, headers={},
            litellm_logging_obj=self.log,
        )  # fmt: skip
        del value["litellm_logging_obj"], value["client"]
        return value

    def request(self, source: str, target: str) -> Callable[[bytes], bytes]:
        if {source, target} == {CHAT, RESPONSES}:
            return lambda body: dumps(self._value(source, loads(body)), default=_plain)
        if (source, target) == (MESSAGES, CHAT):
            from litellm.llms.anthropic.pass_through.adapters.transformation import LiteLLMAnthropicMessagesAdapter

            adapter = LiteLLMAnthropicMessagesAdapter()
            return lambda body: dumps(adapter.translate_anthropic_to_openai(loads(body))[0], default=_plain)
        raise Unsupported("has no such conversion")

    def response(self, source: str, target: str, body: bytes) -> Run:
        def to_responses() -> bytes:
            value = self.config.transform_chat_completion_response_to_responses_api_response(
                request_input="x", responses_api_request={}, chat_completion_response=loads(body)
            )
            return dumps(value, default=_plain)

        def to_chat() -> bytes:
            value = self.handler.transform_response(
                model="m", raw_response=self.resource(**loads(body)), model_response=self.completion(), request_data={},
                logging_obj=self.log, messages=[], optional_params={}, litellm_params={}, encoding=None,
            )  # fmt: skip
            return dumps(value, default=_plain)

        return to_responses if source == CHAT else to_chat

    def stream(self, source: str, target: str, body: bytes) -> Run:
        if source == target:
            raise Unsupported("has no such conversion")
        data = stream_data(body)

        def to_responses() -> bytes:
            chunks = _Chunks(self.chunk(**loads(line)) for line in data)
            last = b""
            for event in self.responses_events(
                model="m", litellm_custom_stream_wrapper=chunks, request_input="x", responses_api_request={}
            ):
                last = dumps(event, default=_plain)
            return last

        def to_chat() -> bytes:
            parser, last = self.chat_events(iter(()), sync_stream=True), b""
            for line in data:
                last = dumps(parser.chunk_parser(loads(line)), default=_plain)
            return last

        return to_responses if source == CHAT else to_chat

    def report(self, source: str, target: str, body: bytes) -> Said:
        if {source, target} != {CHAT, RESPONSES}:
            raise Unsupported("has no such conversion")
        value, said = overheard(lambda: self._value(source, loads(body)))
        return loads(dumps(value, default=_plain)), said


class _Chunks:
    """What LiteLLM's iterator needs of its own stream object: the chunks, and a place for a logger."""

    def __init__(self, chunks: Iterator[Any]) -> None:
        self.chunks, self.logging_obj = chunks, None

    def __next__(self) -> Any:
        return next(self.chunks)


def _plain(value: Any) -> Any:
    return value.model_dump() if hasattr(value, "model_dump") else str(value)


CONTENDERS: tuple[type[Contender], ...] = (Ours, Rosetta, RosettaCold, Linguafranca, LiteLLM, LiteLLMBridge)
