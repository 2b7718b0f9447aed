"""Lists of models, and what is known of how models think.

`THINKING` is dated data, looked up by the start of a model's name: whether a model takes a level or a budget, and in
which range. A model that is not there gets what the request says.

https://ai.google.dev/api/models https://ai.google.dev/gemini-api/docs/thinking (read 2026-10)
"""

from __future__ import annotations

from typing import Any, NamedTuple

from unified_llm.mapping import IllTyped, Mapping
from unified_llm.reading import Reader
from unified_llm.writing import Writer

from .tables import PROTOCOL

__all__ = ["models", "read_model_list", "thinking_of", "write_model_list"]

Node = dict[str, Any]


class Thinking(NamedTuple):
    """How a model is told to think: `by` level or budget, budgets from `least` to `most`, `off` when 0 turns it off.

    `signed` says that calls of the current turn must carry a signature.
    """

    by: str
    least: int = 0
    most: int = 24576
    off: bool = True
    signed: bool = False

    def clamp(self, budget: int) -> int:
        """The budget in the model's range."""
        if budget == -1 or (budget == 0 and self.off):
            return budget
        return min(max(budget, self.least), self.most)

    def budget(self, effort: str) -> int:
        """A budget for a level."""
        if effort == "none":
            return self.clamp(0)
        share = {"minimal": 0.02, "low": 0.05, "medium": 0.33, "high": 1.0, "xhigh": 1.0, "max": 1.0}
        return self.clamp(int(self.most * share.get(effort, 0.33)))

    def level(self, budget: int) -> str:
        """A level for a budget."""
        if budget < 0:
            return "HIGH"
        return "MINIMAL" if budget == 0 else "LOW" if budget <= 1024 else "MEDIUM" if budget <= 8192 else "HIGH"


_BUDGET = "budget"
_LEVEL = "level"
# Start of the name, the longest that fits.
THINKING: dict[str, Thinking] = {
    "gemini-2.5-pro": Thinking(_BUDGET, 128, 32768, off=False),
    "gemini-2.5-flash": Thinking(_BUDGET, 0, 24576),
    "gemini-2.5-flash-lite": Thinking(_BUDGET, 512, 24576),
    "gemini-robotics-er-1.6": Thinking(_BUDGET, 0, 24576),
    "gemini-3": Thinking(_LEVEL, signed=True),
}


def thinking_of(model: Any) -> Thinking | None:
    """What is known of a model, by its name without path."""
    if type(model) is not str:
        return None
    name = model.rpartition("/")[2]
    found = [start for start in THINKING if name.startswith(start)]
    return THINKING[max(found, key=len)] if found else None


# ---- lists of models ------------------------------------------------------------------------------------------------

models = Mapping(f"{PROTOCOL} models", tag="type", default="model")
_PATH = "models/"
_LISTS = ("models", "publisherModels")


@models.read("model")
def read_model(w: Node, r: Reader) -> Node:
    name = w.pop("name")
    if type(name) is not str:
        raise IllTyped("name")
    node: Node = {"type": "model", "id": name.removeprefix(_PATH)}
    if not name.startswith(_PATH):
        r.form(node, "name", "bare")
    if type(w.get("displayName")) is str:
        node["display_name"] = w.pop("displayName")
    return node


@models.write("model")
def write_model(c: Node, w: Writer) -> Node:
    name = c.pop("id")
    wire: Node = {"name": name if w.form(c, "name") or name.startswith(_PATH) else _PATH + name}
    if "display_name" in c:
        wire["displayName"] = c.pop("display_name")
    if (c.get("extra") or {}).get(w.protocol) is None:
        wire["supportedGenerationMethods"] = ["generateContent", "streamGenerateContent", "countTokens"]
        w.added(wire, "supportedGenerationMethods", "what is served here")
    return wire


def read_model_list(w: Node, r: Reader) -> Node:
    """A list of models, or one model alone."""
    key = next((key for key in _LISTS if type(w.get(key)) is list), None)
    if key is None:
        if type(w.get("name")) is not str:
            raise IllTyped("models")
        node: Node = {"models": r.nodes(models, [dict(w)])}
        w.clear()
        r.form(node, "list", "alone")
        return node
    node = {"models": r.nodes(models, w.pop(key))}
    if key != _LISTS[0]:
        r.form(node, "list", key)
    return node


def write_model_list(c: Node, w: Writer) -> Any:
    written = w.nodes(models, c.pop("models", None) or [])
    form = w.form(c, "list")
    if form == "alone" and len(written) == 1:
        return written[0]
    return {form or _LISTS[0]: written}
