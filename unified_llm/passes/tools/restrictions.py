"""What restricts a tool is never dropped: where the target cannot express it, the tool is withheld, and reported.

Law: for every tool and every field that narrows it (`model.base.narrows`), the restriction is in the target's document,
or the tool is not. The same holds for the choice among tools: where it cannot be expressed, or names a tool that was
withheld, no other tool becomes callable. See decision 0026.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ...engine.adapter import Adapter, Kind
from ...engine.pairs.writing import Writer
from ...types._tables import NARROWS
from ..trial import Trial, write_trial
from .tool_choice import ChoiceIndex, entry_keys, entry_of, kind_of, tool_keys

__all__ = ["keep_restrictions"]

Node = dict[str, Any]
Keys = tuple[Any, ...]

# What a choice, or an entry of one, names tools by.
_KNOWN = frozenset(("type", "name", "server_label", "tools"))


def keep_restrictions(
    request: Node, declared: list[Node], writer: Writer, kind: Kind, source: Adapter | None, goal: Adapter
) -> list[tuple[Node, Node]]:
    """Withhold from `request` the tools that the target cannot restrict as they are, and fit the choice to the rest.

    `declared` are the tools as they were before foreign provider references were taken out. Gives the nodes that were
    made, with those they stand for.
    """
    if type(request.get("tool_choice")) is not dict:
        for tool in declared:
            if tool.get("type") != "function":
                break
        else:
            return []
    done = _Restricting(request, declared, writer, kind, source, goal)
    done.withhold()
    done.choose()
    return done.replaced


class _Restricting:
    def __init__(
        self,
        request: Node,
        declared: list[Node],
        writer: Writer,
        kind: Kind,
        source: Adapter | None,
        goal: Adapter,
    ) -> None:
        # What the target's choice decides about, where the source's decides about all tools; and the other way around.
        theirs = source.chosen if source is not None else None
        self.chosen = goal.chosen if theirs is None else None
        self.widens = theirs if goal.chosen is None else None
        # Nodes from which a restriction was taken that they state to restrict nothing.
        self.unrestricted: set[int] = set()
        self.request, self.declared, self.writer, self.kind = request, declared, writer, kind
        self.natives = source.narrows if source is not None else {}
        self.implied = source.implied if source is not None else {}
        self.tools: list[Node] = list(request.get("tools") or ())
        self.replaced: list[tuple[Node, Node]] = []

    def put(self, key: str, value: Any) -> None:
        context = self.writer.context
        context.setdefault("given", {**self.request})
        context.setdefault("asked", {}).setdefault(key, self.request[key])
        if value is None:
            del self.request[key]
        else:
            self.request[key] = value

    def try_out(self, tools: list[Node], **fields: Any) -> Trial:
        # A target may refuse a request without a model; whether this one needs it is seen when it is written.
        return write_trial(self.writer, self.kind, model=self.request.get("model") or "trial", tools=tools, **fields)

    # --- tools

    def withhold(self) -> None:
        """Leave out the tools that the target does not take, or takes without what restricts them."""
        # What was reported of a tool before is gone from it: references that another provider made.
        gone: dict[int, list[Keys]] = {}
        for node, keys, fate, _, _ in self.writer.raw:
            if fate == "lost" and keys:
                gone.setdefault(id(node), []).append(keys)
        originals = {id(new): old for new, old in self.writer.context.get("replaced", ())}
        while True:
            tried = [self._with_implied(tool) for tool in self.tools]
            trial = self.try_out(tried)
            if (("tools",), "lost") in trial.request:
                # It takes no tools at all, which its writer reports.
                self.tools = []
                return
            barred = {self.natives.get(kind_of(tool)) for tool in tried if id(tool) in trial.whole}
            kept, reasons = [], []
            for tool, copy in zip(self.tools, tried):
                original = originals.get(id(tool), tool)
                lost = [*trial.parts.get(id(copy), ()), *gone.get(id(original), ())]
                unsaid = next(filter(None, (self._narrowing({**original, **copy}, keys) for keys in lost)), None)
                if id(copy) in trial.whole:
                    reasons.append((tool, trial.whole[id(copy)]))
                elif unsaid is not None:
                    reasons.append((tool, f"withheld: the target cannot restrict it by {unsaid}"))
                elif tool.get("type") in barred:
                    reasons.append((tool, "withheld: the target cannot restrict which of its tools may be called"))
                else:
                    kept.append(tool)
            if not reasons:
                self.tools = [
                    self._without_harmless(tool, trial.parts.get(id(copy), ())) for tool, copy in zip(kept, tried)
                ]
                break
            for tool, reason in reasons:
                self.writer.drop(tool, reason)
            self.tools = kept
        before = self.request.get("tools") or ()
        if len(self.tools) < len(before) or any(new is not old for new, old in zip(self.tools, before)):
            self.put("tools", self.tools or None)

    def _without_harmless(self, tool: Node, lost: Iterable[Keys]) -> Node:
        """The tool without values that the target has no field for and that restrict nothing."""
        table, harmless = NARROWS.get(kind_of(tool), {}), []
        for keys in lost:
            value = _at(tool, keys)
            if len(keys) == 1 and keys[0] in table and value in table[keys[0]] and value not in ([], {}):
                harmless.append(keys[0])
                places: list[Keys] = [(place,) for place in range(len(value))] if type(value) is list else [()]
                for place in places:
                    self.writer.report(tool, (*keys, *place), "approximated", "it restricts nothing")
        if not harmless:
            return tool
        new = {key: value for key, value in tool.items() if key not in harmless}
        self.replaced.append((new, self._origin(tool)))
        self.unrestricted.add(id(new))
        return new

    def _origin(self, tool: Node) -> Node:
        """The tool that a node of this pass stands for."""
        return next((old for new, old in self.replaced if new is tool), tool)

    def _with_implied(self, tool: Node) -> Node:
        """The tool with the restrictions that its own protocol imposes by default."""
        if id(tool) in self.unrestricted:
            return tool
        implied = self.implied.get(kind_of(tool), {})
        unsaid = {key: value for key, value in implied.items() if tool.get(key) is None}
        return {**tool, **unsaid} if unsaid else tool

    def _narrowing(self, tool: Node, keys: Keys) -> str | None:
        """The restriction that is gone with what is lost at `keys`, None for none."""
        if keys[0] == "extra":
            value = _at(tool, keys)
            native = value.keys() & self.natives.keys() if type(value) is dict else set()
            return next((key for key in sorted(native) if self.natives[key] == tool.get("type")), None)
        table = NARROWS.get(kind_of(tool), {})
        path = ".".join(map(str, keys))
        for name in sorted(table, key=len, reverse=True):
            if name == path or name.startswith(path + ".") or path.startswith(name + "."):
                value = _at(tool, keys if path.startswith(name) else tuple(name.split(".")))
                if value is not None and value not in table[name]:
                    return name
                if path.startswith(name):
                    return None
        return None

    # --- the choice

    def choose(self) -> None:
        """Fit the choice to the tools that are left, so that no other tool becomes callable."""
        choice = self.request.get("tool_choice")
        if choice is None or not self.declared:
            return
        if self.chosen is not None:
            choice = self._settle_others(choice, self.chosen)
        elif self.widens is not None and choice in ("none", "required"):
            if any(kind_of(tool) not in self.widens for tool in self.tools):
                detail = "holds for hosted tools too" if choice == "none" else "a call of a hosted tool meets it too"
                self.writer.report(self.request, ("tool_choice",), "approximated", detail)
        elif self.widens is not None and type(choice) is dict and choice.get("mode") in (None, "auto", "validated"):
            choice = self._name_others(choice, self.widens)
        if not self.tools:
            fate = "approximated" if choice == "none" else "lost"
            self.writer.report(self.request, ("tool_choice",), fate, "refused where no tools are declared")
            self.put("tool_choice", None)
        elif type(choice) is dict:
            self._choose(choice)

    def _name_others(self, choice: Node, chosen: frozenset[str]) -> Node:
        """The choice with the tools that the source's does not decide about, which may be called all the same."""
        named = choice.get("tools") if choice.get("type") == "allowed_tools" else None
        if type(named) is not list or any(type(entry) is not dict for entry in named):
            return choice
        entries = ChoiceIndex(map(entry_keys, named))
        others = [
            entry_of(tool)
            for tool in self.tools
            if kind_of(tool) not in chosen and entries.first(tool_keys(tool)) is None
        ]
        if others:
            choice = {**choice, "tools": [*named, *others]}
            self.put("tool_choice", choice)
        return choice

    def _settle_others(self, choice: Any, chosen: frozenset[str]) -> Any:
        """Withhold what the choice leaves out and would not keep from being called; the choice among the others."""
        listed = choice.get("tools") if type(choice) is dict and choice.get("type") == "allowed_tools" else None
        named = listed if listed is not None else [choice] if type(choice) is dict else []
        if choice == "required" and any(kind_of(tool) not in chosen for tool in self.tools):
            self.writer.report(self.request, ("tool_choice",), "approximated", "only a call of a function meets it")
        if (type(choice) is not dict and choice != "none") or type(named) is not list:
            return choice
        if any(type(entry) is not dict for entry in named):
            return choice
        entries = ChoiceIndex(map(entry_keys, named))
        kept = []
        for tool in self.tools:
            if kind_of(tool) in chosen or entries.first(tool_keys(tool)) is not None:
                kept.append(tool)
            else:
                self.writer.drop(tool, "left out by tool_choice, which decides about functions only")
        if len(kept) < len(self.tools):
            self.tools = kept
            self.put("tools", kept or None)
        functions = [entry for entry in named if kind_of(entry) in chosen]
        if listed is None or choice.get("mode") not in (None, "auto") or not functions or len(functions) == len(named):
            return choice
        there = ChoiceIndex(map(tool_keys, self.tools))
        for place, entry in enumerate(named):
            if kind_of(entry) not in chosen and there.first(entry_keys(entry)) is None:
                functions.append(entry)
            elif kind_of(entry) not in chosen:
                at = ("tool_choice", "tools", place)
                self.writer.report(self.request, at, "approximated", "callable whatever the choice is")
        made = {**choice, "tools": functions}
        self.put("tool_choice", made)
        return made

    def _choose(self, choice: Node) -> None:
        allowed = choice.get("type") == "allowed_tools"
        named = choice.get("tools") if allowed else [choice]
        if type(named) is not list or any(type(entry) is not dict for entry in named):
            return
        listed: list[tuple[int, Node]] = list(enumerate(named))
        there, declared = (ChoiceIndex(map(tool_keys, tools)) for tools in (self.tools, self.declared))
        keys = [entry_keys(entry) for entry in named]
        gone = {
            place: None
            for place, each in enumerate(keys)
            if there.first(each) is None and (declared.first(each) is not None or (allowed and self.lacks_some))
        }
        left = [(place, entry) for place, entry in listed if place not in gone]
        if allowed:
            for place in gone:
                self.writer.report(self.request, ("tool_choice", "tools", place), "lost", "the tool is withheld")
        if gone and not left:
            # None of the tools that may be called is left.
            self._leave_out(choice, [])
            self._allow_none()
            return
        if gone:
            self.put("tool_choice", {**choice, "tools": [entry for _, entry in left]})
        lost = [keys[1:] for keys, fate in self._fates(self.tools, self.request["tool_choice"]) if fate == "lost"]
        if any(keys != ("mode",) and (not keys or keys[-1] in _KNOWN or type(keys[-1]) is int) for keys in lost):
            self._declare_only(choice, left)

    @property
    def lacks_some(self) -> bool:
        """Whether a tool was withheld."""
        return len(self.tools) < len(self.declared)

    def _fates(self, tools: list[Node], choice: Any) -> list[tuple[Keys, str]]:
        """What becomes of a choice among these tools."""
        return [each for each in self.try_out(tools, tool_choice=choice).request if each[0][:1] == ("tool_choice",)]

    def _leave_out(self, choice: Node, left: list[tuple[int, Node]]) -> None:
        """Report what a choice that is not written holds beside what it means."""
        nodes = [(("tool_choice",), choice), *((("tool_choice", "tools", place), entry) for place, entry in left)]
        for at, node in nodes if choice.get("type") == "allowed_tools" else nodes[:1]:
            for key in [key for key in node if key not in _KNOWN and key != "mode"]:
                self.writer.report(self.request, (*at, key), "lost")

    def _allow_none(self) -> None:
        """None of the tools that may be called is left: the others may not be called."""
        takes = not self._fates(self.tools, "none")
        detail = "the tool is withheld, and no other may be called"
        self.writer.report(
            self.request, ("tool_choice",), "approximated", f"sent as 'none': {detail}" if takes else detail
        )
        for tool in () if takes else self.tools:
            self.writer.drop(tool, "not among the tools that may be called")
        if not takes:
            self.put("tools", None)
        self.put("tool_choice", "none" if takes else None)

    def _declare_only(self, choice: Node, left: list[tuple[int, Node]]) -> None:
        """Where the target has no such choice, the tools that may not be called are not declared."""
        kept = []
        entries = ChoiceIndex(entry_keys(entry) for _, entry in left)
        unnamed = []
        for tool in self.tools:
            place = entries.first(tool_keys(tool))
            if place is None:
                unnamed.append(tool)
                continue
            entry = left[place][1]
            if tool.get("type") == "mcp" and type(entry.get("name")) is str:
                named = {**tool, "allowed_tools": [entry["name"]]}
                self.replaced.append((named, self._origin(tool)))
                if id(tool) in self.unrestricted:
                    self.unrestricted.add(id(named))
                tool = named
            kept.append(tool)
        if not kept:
            return
        for tool in unnamed:
            self.writer.drop(tool, "not among the tools that may be called")
        allowed = choice.get("type") == "allowed_tools"
        mode = choice.get("mode") if allowed else "required"
        if mode is None:
            fates = []
        else:
            fates = [fate for _, fate in self._fates(kept, mode)] if type(mode) is str else ["lost"]
        if "lost" in fates:
            mode = None
        elif fates and mode == "validated":
            mode = "auto"
        self._leave_out(choice, left)
        if allowed:
            self.writer.report(self.request, ("tool_choice", "tools"), "approximated", "no other tool is declared")
            found = ChoiceIndex(map(tool_keys, kept))
            for place, entry in left:
                if found.first(entry_keys(entry)) is None:
                    at = ("tool_choice", "tools", place)
                    self.writer.report(self.request, at, "lost", "no such tool is declared")
            if fates:
                detail = f"sent as {mode!r}" if mode else "left to the model"
                self.writer.report(self.request, ("tool_choice", "mode"), fates[0], detail)
        else:
            detail = "no other tool is declared" + (f", sent as {mode!r}" if mode else ", left to the model")
            for key in [key for key in choice if key in _KNOWN]:
                # That it has to be called is in `type`.
                fate = "lost" if key == "type" and mode is None else "approximated"
                self.writer.report(self.request, ("tool_choice", key), fate, detail)
        self.tools = kept
        self.put("tools", kept)
        self.put("tool_choice", mode)
        if self.replaced:
            self.withhold()
            self.choose()


def _at(node: Any, keys: Keys) -> Any:
    for key in keys:
        if type(node) is dict:
            node = node.get(key)
        elif type(node) is list and type(key) is int and key < len(node):
            node = node[key]
        else:
            return None
    return node
