"""Tools declared in groups, or in the course of a conversation, as one flat list where the target has no such form.

A tool of a namespace is declared under both names, joined; calls of it come back under its namespace, by the exchange.
Tools that an `additional_tools` item adds, or that a search found, are declared with the others, and those that a
`tool_change` removes are not.
Whether a target has these forms is found out by a trial, so that no adapter states it twice. See decision 0026.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from ...engine.adapter import Kind
from ...engine.pairs.mapping import Fated
from ...engine.pairs.writing import Writer
from ..trial import write_trial
from .tool_list import ToolList, key_of, word

__all__ = ["flatten"]

Node = dict[str, Any]

_CALLS = frozenset(("function_call", "custom_tool_call", "function_call_output", "custom_tool_call_output"))
_NAMED = frozenset(("function", "custom"))
_FOUND = frozenset(("tool_search_output", "tool_search_result"))
_CHANGES = frozenset(("additional_tools", "tool_change")) | _FOUND
_ANEW = "declared anew in the course of the conversation"


def flatten(request: Node, writer: Writer, kind: Kind, plain: bool) -> list[tuple[Node, Node]]:
    """Make one flat list of the tools of `request`, in place; gives the nodes that were made, with the old ones.

    `plain` means that no item of the conversation declares a tool or names a namespace.
    """
    grouped = changing = named = False
    tools, items = request.get("tools"), request.get("input")
    if type(tools) is list:
        for tool in tools:
            if tool.get("type") == "namespace":
                grouped = True
    if not plain and type(items) is list:
        for item in items:
            if item.get("type") in _CHANGES:
                changing = True
            if "namespace" in item and type(item["namespace"]) is str:
                named = True
    if not (grouped or changing or named):
        return []
    done = _Flattening(request, writer, kind)
    if changing:
        done.apply_changes(items)  # type: ignore[arg-type]
    if grouped or named or done.added:
        done.join()
    return done.replaced


class _Flattening:
    def __init__(self, request: Node, writer: Writer, kind: Kind) -> None:
        self.request, self.writer, self.kind = request, writer, kind
        self.replaced: list[tuple[Node, Node]] = []
        self.added = False

    def put(self, key: str, value: Any) -> None:
        context = self.writer.context
        context.setdefault("given", {**self.request})
        context.setdefault("asked", {}).setdefault(key, self.request.get(key))
        self.request[key] = value

    def copy(self, node: Node, **changes: Any) -> Node:
        new = {**node, **changes}
        self.replaced.append((new, node))
        return new

    # --- changes in the course of the conversation

    def apply_changes(self, items: list[Node]) -> None:
        """Declare the tools that the conversation ends up with, where the target cannot change them as it goes."""
        changes = [item for item in items if item.get("type") in _CHANGES]
        lacking = write_trial(self.writer, self.kind, model=self.request.get("model"), input=changes).whole
        gone = [item for item in changes if id(item) in lacking and _declares(item)]
        before = list(self.request.get("tools") or ())
        tools = ToolList(before)
        declared: ToolList | None = None
        for item in gone:
            if item["type"] == "additional_tools":
                self._add(tools, item.get("tools") or ())
            elif item["type"] in _FOUND:
                self._found(tools, item.get("tools") or ())
            elif item.get("action") == "add" and type(item.get("tool")) is dict:
                self._add(tools, [item["tool"]])
            elif item.get("action") == "add":
                declared = declared or ToolList(before)
                self._add(tools, [declared.tools[number] for number in declared.meant(item)])
            elif item.get("action") == "remove":
                for number in tools.meant(item):
                    self._remove(tools, number, item)
            else:
                continue
            self.writer.piece(_hold, item)
        applied = {id(item) for item in gone if item.get("action", "add") in ("add", "remove")}
        if applied:
            self.added = True
            self.put("tools", tools.listed(self.copy))
            self.put("input", [item for item in items if id(item) not in applied])

    def _remove(self, tools: ToolList, number: int, change: Node) -> None:
        """Take away a tool that a change removes, or one tool of its server."""
        tool, name = tools.tools[number], change.get("name")
        if tool.get("type") == "mcp" and name is not None and type(tool.get("allowed_tools")) is list:
            if tools.withdraw(number, name):
                return
        self.writer.drop(tool, "removed in the course of the conversation")
        tools.drop(number)

    def _add(self, tools: ToolList, more: Any) -> None:
        """Declare more tools: what is declared anew takes the place of what went by its name."""
        more = [tool for tool in more if type(tool) is dict]
        same = {id(tool) for tool in more}
        keyed = {key_of(tool): tool for tool in more}
        for number in tools.declared(dict.fromkeys(keyed)):
            known = tools.tools[number]
            if id(known) not in same:
                if _undeferred(known) == _undeferred(keyed[key_of(known)]):
                    self.writer.drop(known, _ANEW, "approximated")
                else:
                    self.writer.piece(partial(_anew, keyed[key_of(known)]), known)
            tools.drop(number)
        for tool in more:
            tools.add(tool)

    def _found(self, tools: ToolList, more: Any) -> None:
        """Declare those of the tools that a search found which are not: what it loads may be declared to be loaded."""
        for tool in more:
            number = tools.first(tool)
            if number is None:
                tools.add(self._loaded(tool))
                continue
            known = tools.tools[number]
            grouped = tool.get("type") == "namespace" and type(known.get("tools")) is list
            if grouped and type(tool.get("tools")) is list:
                self._found(tools.members(number), tool["tools"])
                self.writer.piece(_regroup, tool)
                continue
            loaded = self._loaded(tool)
            if _undeferred(known) == _undeferred(tool):
                self.writer.drop(tool, "declared among the tools", "approximated")
            else:
                self.writer.piece(partial(_anew, tool), known)
                tools.replace(number, loaded)

    def _loaded(self, tool: Node) -> Node:
        """A tool that was found is there from now on, and so are those of a namespace."""
        members = tool.get("tools")
        if tool.get("type") == "namespace" and type(members) is list:
            return self.copy(tool, tools=[self._loaded(each) if type(each) is dict else each for each in members])
        if not tool.get("defer_loading"):
            return tool
        self.writer.report(tool, ("defer_loading",), "approximated", "it was found")
        new = {key: value for key, value in tool.items() if key != "defer_loading"}
        self.replaced.append((new, tool))
        return new

    # --- namespaces

    def join(self) -> None:
        """Give the tools of namespaces, and their calls, joined names."""
        tools: list[Node] = self.request.get("tools") or []
        groups = [tool for tool in tools if tool.get("type") == "namespace"]
        call = {"type": "function_call", "call_id": "call", "name": "n", "arguments": "{}", "namespace": "s"}
        trial = write_trial(self.writer, self.kind, model=self.request.get("model"), input=[call], tools=tools)
        lacking = {id(group) for group in groups if id(group) in trial.whole}
        if not lacking and ("namespace",) not in trial.parts.get(id(call), ()):
            return
        names = _Names({str(tool.get("name")) for tool in tools if tool.get("type") in _NAMED})
        out: list[Node] = []
        for tool in tools:
            if id(tool) not in lacking:
                out.append(tool)
                continue
            out += self._members(tool, names)
        if lacking:
            self.put("tools", out)
        items = self.request.get("input")
        if type(items) is list:
            made = [self._called(item, names) if item.get("type") in _CALLS else item for item in items]
            if any(new is not old for new, old in zip(made, items)):
                self.put("input", made)
        self._choose(names)
        if names.joined:
            self.writer.context["namespaces"] = {new: list(both) for both, new in names.joined.items()}

    def _members(self, group: Node, names: _Names) -> list[Node]:
        """The tools of a namespace under joined names; the first one describes the namespace."""
        about, out = group.get("description"), list[Node]()
        for each in group.get("tools") or ():
            name = names.join(group.get("name"), each.get("name")) if type(each) is dict else None
            if name is None:  # nothing that can be joined: the writer reports it
                out.append(each)
                continue
            changes: Node = {"name": name}
            self.writer.report(each, ("name",), "approximated", f"sent as {name}")
            if about and not out:
                own = each.get("description")
                if own:
                    self.writer.report(each, ("description",), "approximated", "with that of the namespace")
                stem = name.removesuffix(each["name"])
                changes["description"] = "\n\n".join([*([own] if own else []), f"All tools named {stem}*: {about}"])
            out.append(self.copy(each, **changes))
        self.writer.piece(partial(_group, bool(out)), group)
        return out

    def _called(self, item: Node, names: _Names) -> Node:
        """A call or a result under the name that its tool is declared by."""
        space, name = item.get("namespace"), item.get("name")
        if type(space) is not str:
            return item
        new = {key: value for key, value in item.items() if key != "namespace"}
        # What a search loaded by itself goes by its own name as its namespace.
        if type(name) is str and (space != name or (space, name) in names.joined):
            new["name"] = names.join(space, name)
            self.writer.report(item, ("name",), "approximated", f"sent as {new['name']}")
        self.writer.report(item, ("namespace",), "approximated", "joined to the name")
        self.replaced.append((new, item))
        return new

    def _choose(self, names: _Names) -> None:
        choice = self.request.get("tool_choice")
        if type(choice) is not dict:
            return
        listed = choice.get("tools")
        if choice.get("type") != "allowed_tools" or type(listed) is not list:
            entries = names.meant(choice)
            if entries == [choice]:
                return
            self.writer.report(self.request, ("tool_choice",), "approximated", "by the joined names")
            several = {"type": "allowed_tools", "mode": "required", "tools": entries}
            self.put("tool_choice", entries[0] if len(entries) == 1 else several)
            return
        made: list[Node] = []
        chosen: set[Any] = set()  # a joined name is listed once, however often its namespace is
        for place, entry in enumerate(listed):
            said = tuple(word(entry.get(key)) for key in ("type", "name", "namespace")) if type(entry) is dict else None
            entries = [] if said in chosen else names.meant(entry) if said else [entry]
            if entries != [entry]:
                self.writer.report(self.request, ("tool_choice", "tools", place), "approximated", "by the joined names")
                entries = [each for each in entries if each["name"] not in chosen]
                chosen.update(each["name"] for each in entries)
                chosen.add(said)
            made += entries
        if made != listed:
            self.put("tool_choice", {**choice, "tools": made})


class _Names:
    """Joined names of tools by namespace and name, none of which another tool goes by."""

    def __init__(self, taken: set[str]) -> None:
        self.own, self.taken = frozenset(taken), taken
        self.joined: dict[tuple[str, str], str] = {}
        # The joined names by namespace, by name and by both, made when a choice needs them.
        self._meant: dict[tuple[Any, ...], list[str]] | None = None

    def join(self, space: Any, name: Any) -> str | None:
        if type(name) is not str:
            return None
        both = (space if type(space) is str else "", name)
        if both not in self.joined:
            stem = f"{both[0]}{'' if not both[0] or both[0].endswith('_') else '__'}{name}"
            new, number = stem, 1
            while new in self.taken:
                number += 1
                new = f"{stem}_{number}"
            self.taken.add(new)
            self.joined[both] = new
        return self.joined[both]

    def meant(self, entry: Node) -> list[Node]:
        """An entry of a choice with the joined names: all tools of a namespace, one of them, or itself."""
        if self._meant is None:
            self._meant = {}
            for (group, own), new in self.joined.items():
                for key in (("group", group), ("name", own), ("both", group, own)):
                    self._meant.setdefault(key, []).append(new)
        kind, name, space = entry.get("type"), entry.get("name"), entry.get("namespace")
        if kind == "namespace":
            return [{"type": "function", "name": new} for new in self._meant.get(("group", word(name)), ())]
        if kind not in _NAMED or name in self.own:
            return [entry]
        key = ("name", word(name)) if space is None else ("both", word(space), word(name))
        return [{"type": kind, "name": new} for new in self._meant.get(key, ())] or [entry]


def _hold(c: Node, w: Writer) -> None:
    """Consume an item that changes tools: they hold for the whole conversation."""
    for key in ("tools", "tool"):
        c.pop(key, None)
    for key in ("type", "role", "id", "action", "name", "server_label"):
        if c.get(key) is not None:
            c[key] = Fated("approximated", "the tools hold for the whole conversation")
    c["type"] = Fated("approximated", "the tools hold for the whole conversation")


def _declares(item: Node) -> bool:
    """Whether an item changes what is declared: a result of a search may name tools only, or have found nothing."""
    tools = item.get("tools")
    return item["type"] not in _FOUND or (
        type(tools) is list
        and bool(tools)
        and all(type(tool) is dict and key_of(tool)[1] is not None for tool in tools)
    )


def _undeferred(tool: Node) -> Node:
    return {key: value for key, value in tool.items() if key not in ("defer_loading", "extra")}


def _regroup(c: Node, w: Writer) -> None:
    """Consume a namespace of found tools, which are with those that it declares."""
    c.pop("tools", None)
    for key in [key for key in c if key != "extra"]:
        c[key] = Fated("approximated", "declared among the tools")


def _anew(later: Node, c: Node, w: Writer) -> None:
    """Consume a tool that is declared anew later: what differs there is lost."""
    for key in [key for key in c if key != "extra"]:
        c[key] = Fated("approximated" if key in later and later[key] == c[key] else "lost", _ANEW)


def _group(held: bool, c: Node, w: Writer) -> None:
    """Consume a namespace, whose tools have joined names; the first of them describes it."""
    c.pop("tools", None)
    if "name" in c:
        c["name"] = Fated("approximated", "joined to the names of its tools")
    if c.get("description"):
        c["description"] = (
            Fated("approximated", "in the description of its first tool") if held else Fated("lost", "it has no tools")
        )
