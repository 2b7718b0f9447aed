"""The closed list of capabilities: what a protocol can or cannot carry, in words that belong to no protocol.

Every loss names one of these. The list is closed so that globs (`reasoning.*`), lock files and matrices keep their
meaning; foreign adapters extend it only below `x.<slug>.`. Names are dotted, topic first, one meaning each.
Nothing but the standard library is imported: this module sits on the hot path.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Final

__all__ = ["CAPABILITIES", "is_capability", "is_known", "near"]

CAPABILITIES: Final[dict[str, str]] = {
    # content
    "text.input": "text given to the model",
    "text.output": "text made by the model",
    "text.unicode": "characters that have no form in the target, lone surrogates",
    "image.input": "pictures given to the model",
    "image.output": "pictures made by the model, and their settings",
    "audio.input": "sound given to the model",
    "audio.output": "sound made by the model, with voice, format and transcript",
    "video.input": "moving pictures given to the model",
    "media.output": "video and documents made by the model or its tools",
    "file.input": "documents given to the model, with title and context",
    "file.reference": "media named by a provider's handle (file id, file URI) instead of sent",
    "media.detail": "how media are read: media type, detail, resolution, page and time ranges, frame rate",
    # messages and items
    "instructions": "the system text that stands before the conversation",
    "message.role": "who speaks, system and developer messages in mid conversation included",
    "message.name": "the speaker's name",
    "item.id": "the id of an item, apart from the id of a call",
    "item.status": "how far an item has come",
    "item.phase": "commentary or final answer",
    "item.turn": "which items came in one wire message",
    # reasoning
    "reasoning.text": "the model's reasoning in clear",
    "reasoning.summary": "summaries of the reasoning, and how detailed they are",
    "reasoning.signature": "opaque proof or ciphertext of reasoning: signatures, encrypted content, redacted thoughts",
    "reasoning.effort": "how hard to think, by level",
    "reasoning.budget": "how hard to think, in tokens",
    "reasoning.control": "whether and when to think: enabled, adaptive, disabled, between tools",
    "reasoning.visibility": "whether reasoning is shown in the answer",
    "reasoning.context": "which earlier reasoning the model sees again, and the reasoning mode",
    # tools
    "tools.function": "functions described by a JSON schema, and calls of them",
    "tools.strict": "arguments guaranteed to match the schema",
    "tools.parallel": "several calls in one turn, allowed or forbidden",
    "tools.choice": "which tool is called, whether any is, and how many times",
    "tools.allowed": "a subset of the declared tools may be called",
    "tools.custom": "tools that take raw text",
    "tools.grammar": "raw text bound by a grammar",
    "tools.deferred": "tools declared but loaded later, and the search that loads them",
    "tools.namespace": "tools grouped under a name",
    "tools.programmatic": "calls made by code the model wrote, and that code",
    "tools.executor": "who executes a call (client, provider, agent), and whether it is answered later",
    "tools.call_id": "the id that pairs a call with its result",
    "tools.result": "the result of a call, as text",
    "tools.result.error": "a result marked as failed",
    "tools.result.media": "a result that holds images, files or other parts",
    "tools.mcp": "tools of a remote MCP server",
    "tools.mcp.approval": "asking the user before a remote tool is called",
    "tools.hosted.web_search": "search of the web by the provider",
    "tools.hosted.web_fetch": "reading of given URLs by the provider",
    "tools.hosted.code_interpreter": "code run by the provider",
    "tools.hosted.file_search": "search of stored documents by the provider",
    "tools.hosted.image_generation": "pictures made by a tool of the provider",
    "tools.hosted.maps": "places and maps looked up by the provider",
    "tools.hosted.computer": "use of a screen, mouse and keyboard",
    "tools.hosted.shell": "shell commands",
    "tools.hosted.apply_patch": "edits of files by patches",
    "tools.hosted.other": "any other tool of the provider: retrieval, media processing",
    # output
    "output.max_tokens": "a limit on the tokens made",
    "output.structured": "output bound by a JSON schema or to JSON",
    "output.stop": "texts at which output stops",
    "output.verbosity": "how long answers should be",
    "output.choices": "several answers to one request",
    "output.logprobs": "log probabilities of tokens",
    "output.modalities": "which kinds of media the answer may hold",
    "output.prediction": "text expected in the answer, given to speed it up",
    "output.refusal": "a refusal told apart from ordinary text",
    "sampling.temperature": "randomness",
    "sampling.top_p": "nucleus sampling",
    "sampling.top_k": "sampling from the k best tokens",
    "sampling.seed": "repeatable sampling",
    "sampling.penalties": "presence and frequency penalties, and the likelihood of single tokens changed",
    "citations.url": "sources on the web, with their span",
    "citations.document": "places in given documents, stored files or search results",
    "citations.other": "places on a map, words and speakers of a transcript",
    # state, caching, service
    "cache.breakpoint": "up to here the prompt may be cached",
    "cache.key": "cache routing, mode, lifetime, and cached content by name",
    "context.compaction": "history replaced by a summary, edited or cut when the context grows too long",
    "context.changes": "settings or tools changed in mid conversation",
    "state.previous_response": "continuing from a stored response",
    "state.store": "whether the provider keeps the response; items named by id instead of sent",
    "state.background": "running without a waiting client",
    "state.conversation": "a conversation or prompt template kept by the provider",
    "state.continuation": "an answer that goes on in a further request",
    "state.environment": "a container or sandbox that outlives the request",
    "agent.config": "an agent instead of a model, sub-agents, their settings and messages",
    "service.tier": "service tier, programmes, fallback models",
    "safety.settings": "filters, moderation and their results",
    "safety.identifier": "an id of the end user",
    "metadata": "free key-value pairs and labels, and the answer's id, times and model name",
    "include": "which extra data the answer shall hold",
    # answers
    "usage.tokens": "token counts in, out and together",
    "usage.cache": "tokens read from and written to a cache",
    "usage.detail": "counts by kind: reasoning, modality, prediction, tool use, and billing",
    "finish.reason": "why the answer ended, and the status of the response",
    "finish.detail": "more about the end: which stop text, which policy",
    "error.code": "an error's code, type, message and HTTP status",
    "error.detail": "what else an error says: parameter, details, request id, retry",
    "stream.options": "what a stream shall hold",
    "stream.detail": "sequence numbers, indexes, padding and progress notes of a stream",
    # what only one protocol knows
    "native.field": "a key only its own protocol knows",
    "native.item": "an item or tool only its own protocol knows",
    "native.content": "a content part or annotation only its own protocol knows",
    "native.event": "an event only its own protocol knows",
}


def is_capability(name: str) -> bool:
    """Whether `name` may stand in a loss: one of `CAPABILITIES`, or `x.<slug>.<anything>` of a foreign adapter.

    >>> is_capability("sampling.top_k"), is_capability("x.acme.mood"), is_capability("x.acme"), is_capability("mood")
    (True, True, False, False)
    """
    if name in CAPABILITIES:
        return True
    head, _, rest = name.partition(".")
    slug, _, tail = rest.partition(".")
    return head == "x" and bool(slug) and all(tail.split("."))


def is_known(glob: str) -> bool:
    """Whether a glob can match anything: one of `CAPABILITIES`, or what foreign adapters name.

    >>> is_known("tools.*"), is_known("tols.*"), is_known("x.acme.*")
    (True, False, True)
    """
    return glob in CAPABILITIES or glob.startswith("x.") or any(fnmatchcase(name, glob) for name in CAPABILITIES)


def near(glob: str) -> str:
    """What a glob that matches no capability may have meant; "" where nothing is near.

    >>> near("sampling"), near("seed"), near("reasonin.*"), near("tools.strct"), near("mood")
    ('sampling.*', 'sampling.seed', 'reasoning.*', 'tools.strict', '')
    """
    from difflib import get_close_matches

    within = [name for name in sorted(CAPABILITIES) if glob.rstrip(".*") in name.split(".")]
    if within:
        return f"{glob}.*" if within[0].startswith(f"{glob}.") else within[0]
    families = {name.partition(".")[0] + ".*" for name in CAPABILITIES if "." in name}
    return next(iter(get_close_matches(glob, [*sorted(families), *sorted(CAPABILITIES)], 1)), "")
