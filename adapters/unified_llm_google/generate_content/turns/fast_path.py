"""The contents that nearly every history of an agent is made of, read and written in one go.

A conversation is mostly texts, calls and results with nothing beside them but a signature, and this is where the time
of a long request goes. What is not exactly of these shapes is None here and goes to the pairs; what is, must come out
as the pairs would have it (`tests/test_google_generate_content_usual.py` converts everything with and without this
file).
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from typing import Any

from unified_llm.engine.pairs.origins import is_own
from unified_llm.engine.pairs.outline import CALL, RESULT, ROLES, USER
from unified_llm.engine.pairs.plain_items import is_only_stated, plain_texts
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.writing import Writer
from unified_llm.foundation.generated_ids import is_made, made_among, made_id, seed_of
from unified_llm.foundation.json_codec import dump_text
from unified_llm.foundation.json_texts import load_objects
from unified_llm.provenance.opaque import is_constant, is_envelope, opaque_piece

from .signature import KIND, SLOT
from .unanswered_calls import waiting_of

__all__ = [
    "LAID",
    "read_usual",
    "read_usual_functions",
    "stay_apart",
    "usual_of",
    "write_beside",
    "write_usual_functions",
]

Node = dict[str, Any]

LAID: dict[str, dict[tuple[Any, ...], tuple[Any, ...]]] = {
    "function_call": {("arguments",): ("functionCall", "args")},
    "function_call_output": {("name",): ("functionResponse", "name"), ("output",): ("functionResponse", "response")},
}
"""Where the leaves of the usual calls and results are in their parts."""
_MARKED = {"form": {"id": "absent"}}


# ---- reading --------------------------------------------------------------------------------------------------------


def read_usual(
    contents: Iterator[tuple[int, Any]], before: bool | None, starts: list[int], items: list[Node], r: Reader
) -> tuple[int, Any] | None:
    """Read numbered contents to `items` while each holds texts and calls of the model's, or one text, or results.

    Gives the first that does not, None at the end. `before` is the side of the content in front of them; where the
    items of each content start is noted in `starts`.
    """
    begin = len(items)
    wires: list[Any] = []  # of the items from there on
    letters: list[str] = []
    add, note, letter, stands, trace = items.append, wires.append, letters.append, r.stands, r.trace
    told = r.outline
    called, names, answered, said = told.calls.append, told.names.append, told.results.append, told.texts.append
    waiting = waiting_of(r)
    wait = waiting.add
    signed: list[tuple[int, Node, str]] = []  # by the number of their content
    node: Node = {}
    alone: Node = {}  # the part of the one text of a message
    unusual = None
    for number, wire in contents:
        start, mark = len(items), waiting.mark()
        message: Node | None = None  # the one that a text would join
        parts: Any = ()
        try:
            role, parts = wire["role"], wire["parts"]
            model, size, made = role == "model", len(parts), 0
            if len(wire) != 2 or type(parts) is not list or not parts or not (model or role == "user"):
                unusual = number, wire
                break
            turned = size > 1 or model is before
            for index, part in enumerate(parts):
                signature = None
                if len(part) != 1:
                    signature = part[SLOT]
                    if len(part) != 2 or not model or type(signature) is not str or not signature:
                        break
                    if is_envelope(signature, r) or is_constant(signature, r):
                        break
                if "functionCall" in part:
                    call = part["functionCall"]
                    name, args, call_id = call["name"], call["args"], call.get("id")
                    if not model or type(name) is not str or type(args) is not dict:
                        break
                    node = {"type": "function_call", "call_id": call_id, "name": name, "arguments": dump_text(args)}
                    if len(call) == 2:
                        made = _give_id(node, made, number, r)
                    elif len(call) != 3 or type(call_id) is not str or not call_id:
                        break
                    wait(node)
                    letter(CALL)
                    called(node["call_id"])
                    names(name)
                elif "functionResponse" in part:
                    answer = part["functionResponse"]
                    name, response, call_id = answer["name"], answer["response"], answer.get("id")
                    output = response["output"]
                    if model or len(response) != 1 or not (type(name) is type(output) is str):
                        break
                    node = {"type": "function_call_output", "call_id": call_id, "output": output, "name": name}
                    if len(answer) == 2:
                        named = waiting.of("name", name)
                        made = _give_id(node, made, number, r, named["call_id"] if named else None)
                        call_id = node["call_id"]
                    elif len(answer) != 3 or type(call_id) is not str or not call_id:
                        break
                    call = waiting.first()
                    if call is None or call["call_id"] != call_id:
                        call = waiting.of("call_id", call_id)
                        r.plain = False
                        if call is None and (named := waiting.of("name", name)) and is_made(named["call_id"]):
                            break
                    if call is not None:
                        if call["name"] != name:
                            r.plain = False
                        waiting.answer(call)
                    letter(RESULT)
                    answered(call_id)
                else:
                    text = part["text"]
                    if type(text) is not str or not text or not (model or size == 1):
                        break
                    said(text)
                    if message is None:
                        message = {"type": "message", "role": "assistant" if model else "user", "content": text}
                        if turned:
                            message["turn"] = number
                        add(message)
                        note(wire)
                        letter(ROLES["assistant"] if model else USER)
                        if signature is None:
                            alone = part
                            continue
                        message["content"] = []
                    elif type(message["content"]) is str:
                        node = {"type": "output_text", "text": message["content"]}
                        message["content"] = [node]
                        trace.append((node, alone))
                    node = {"type": "output_text", "text": text}
                    message["content"].append(node)
                    trace.append((node, part))
                    if signature is not None:
                        signed.append((number, node, signature))
                    continue
                if turned:
                    node["turn"] = number
                stands[id(node)] = ("contents", number, "parts", index)
                message = None
                add(node)
                note(part)
                if signature is not None:
                    signed.append((number, node, signature))
            else:
                if model is before:
                    stay_apart(items, starts, number)
                    r.plain = r.plain and not model
                elif turned and len(items) == start + 1:
                    # Several texts are one message.
                    del items[start]["turn"]
                starts.append(start)
                before = model
                continue
        except (KeyError, TypeError):
            pass
        unusual = number, wire
        for item in items[start:]:
            stands.pop(id(item), None)
        del items[start:]
        own = set(map(id, parts)) if type(parts) is list else set()
        while trace and id(trace[-1][1]) in own:
            trace.pop()
        while signed and signed[-1][0] == number:
            signed.pop()
        waiting.undo(mark)
        break
    r.ran(items, begin, wires, letters)
    for _, node, signature in signed:
        node["opaque"] = [opaque_piece(KIND, signature, r)]
        r.places[id(node), "opaque"] = (SLOT,)
        r.plain = False
    return unusual


def stay_apart(items: list[Node], starts: list[int], number: int) -> None:
    """Two contents of one side stay two: the one before this has its turn, too."""
    for item in items[starts[-1] :]:
        item.setdefault("turn", number - 1)


def _give_id(node: Node, made: int, number: int, r: Reader, call_id: str | None = None) -> int:
    """Give a node that came without an id that of the call it answers, or a made one; how many were made by then."""
    node["call_id"] = call_id or made_id("call", _seed(r), number, made + 1)
    node["extra"] = {r.protocol: {"form": {"id": "absent"}}}
    return made if call_id else made + 1


def _seed(r: Reader) -> str:
    """What the ids that are made are made from."""
    if not r.seed and type(r.doc) is dict and type(r.doc.get("contents")) is list:
        r.seed = seed_of(r.doc["contents"][:1])
    return r.seed


# ---- writing --------------------------------------------------------------------------------------------------------


def usual_of(history: Iterable[Node], w: Writer) -> tuple[Container[str], Iterator[Node | None]] | None:
    """What is found out once for a history: ids that are made up, and what `arguments` stand for, one after the other.

    Arguments that are no object are None.
    """
    texts = [item["arguments"] for item in history if "arguments" in item]
    if not texts:
        return (), iter(())
    ids = w.plain.calls if w.plain else [item.get("call_id") for item in history if "arguments" in item]
    return made_among(ids), iter(load_objects(texts))


def write_beside(item: Node, kind: Any, size: int, arguments: Node | None, parts: list[Node], w: Writer) -> bool:
    """Add to `parts` an item that has a signature or a form beside it, or a message in parts; False for others."""
    if kind == "message":
        return _write_message(item, size, parts, w)
    signature, marked, others = None, False, 0
    if "opaque" in item or "extra" in item:
        found = _beside(item, w)
        if found is None:
            return False
        signature, marked, others = found
    call_id, name = item.get("call_id"), item.get("name")
    if type(call_id) is not str or type(name) is not str:
        return False
    size -= others
    if size != 4 and not (kind == "function_call" and is_only_stated(item, size - 4, w)):
        return False
    wire: Node = {} if marked or is_made(call_id) else {"id": call_id}
    wire["name"] = name
    if kind == "function_call":
        if arguments is None:
            return False
        wire["args"] = arguments
        part: Node = {"functionCall": wire}
    elif kind == "function_call_output" and type(item.get("output")) is str:
        wire["response"] = {"output": item["output"]}
        part = {"functionResponse": wire}
    else:
        return False
    if signature is not None:
        part[SLOT] = signature
    parts.append(part)
    return True


def _write_message(item: Node, size: int, parts: list[Node], w: Writer) -> bool:
    role, content = item.get("role"), item.get("content")
    if not (role == "assistant" or role == "user"):
        return False
    if size != 3:
        signature, marked, others = _beside(item, w) or ("", False, 0)
        if signature is not None or marked or (size - others != 3 and not is_only_stated(item, size - others - 3, w)):
            return False
    if type(content) is str:
        parts.append({"text": content})
        return bool(content)
    if type(content) is not list or not content:
        return False
    texts = plain_texts(content, w)
    if texts is not None:
        parts += [{"text": text} for text in texts]
        return True
    for part in content:
        text = part.get("text")
        if type(text) is not str or not text or part.get("type") not in _TEXTS:
            return False
        if len(part) == 2:
            parts.append({"text": text})
            continue
        proof = _signature(part.get("opaque"), w) if len(part) == 3 else None
        if proof is None:
            return False
        parts.append({"text": text, SLOT: proof})
    return True


def _beside(item: Node, w: Writer) -> tuple[str | None, bool, int] | None:
    """The signature of an item, whether its id was made, and the number of its keys; None where there are others."""
    signature, marked, others = None, False, 0
    if "opaque" in item:
        signature = _signature(item["opaque"], w)
        if signature is None:
            return None
        others += 1
    if "extra" in item:
        if not w.is_silent(item["extra"], _MARKED):
            return None
        marked = w.protocol in item["extra"]
        others += 1
    return signature, marked, others


_TEXTS = frozenset(("input_text", "output_text", "text"))


def _signature(pieces: Any, w: Writer) -> str | None:
    """The one signature that is the provider's own; None for anything else."""
    if type(pieces) is not list or len(pieces) != 1:
        return None
    piece = pieces[0]
    if type(piece) is not dict or piece.get("kind") != KIND or type(piece.get("data")) is not str:
        return None
    origin = piece.get("origin")
    if type(origin) is not dict or origin.get("protocol") is None or not is_own(piece, w):
        return None
    data: str = piece["data"]
    return data


# ---- tools ----------------------------------------------------------------------------------------------------------


def read_usual_functions(wire: Node, group: int, r: Reader) -> list[Node] | None:
    """The tools of a `Tool` object that holds nothing but functions with a description and a JSON schema."""
    declared = wire.get("functionDeclarations")
    if len(wire) != 1 or type(declared) is not list or not declared:
        return None
    tools: list[Node] = []
    extra = {r.protocol: {"form": {"group": group}}}
    for each in declared:
        if type(each) is not dict or len(each) != 3:
            return None
        name, description, schema = each.get("name"), each.get("description"), each.get("parametersJsonSchema")
        if not (type(name) is type(description) is str) or type(schema) is not dict:
            return None
        tool: Node = {"type": "function", "name": name, "description": description, "parameters": schema}
        tool["extra"] = extra
        tools.append(tool)
    r.trace += zip(tools, declared)
    for tool in tools:
        r.places[id(tool), "parameters"] = ("parametersJsonSchema",)
    return tools


def write_usual_functions(tools: list[Node], w: Writer) -> Node | None:
    """The `Tool` object of functions with a description and a schema, and nothing beside them but `strict`."""
    declared = []
    strict = []
    for tool in tools:
        name, size = tool.get("name"), len(tool)
        if type(tool.get("strict")) is bool:
            size -= 1
            strict.append(tool)
        if size != 4 or tool.get("type") != "function" or type(name) is not str:
            return None
        if type(tool.get("description")) is not str or "parameters" not in tool:
            return None
        declared.append({"name": name, "description": tool["description"], "parametersJsonSchema": tool["parameters"]})
    if not declared or w.dialect.get("schemas") == "openapi":
        return None
    if strict:
        w.alike.setdefault((("strict",), "lost", ""), []).extend(strict)
    return {"functionDeclarations": declared}
