"""Tools declared in groups, or in the course of a conversation, as one flat list where the target has no such form.

A tool of a namespace is declared under both names, joined; calls of it come back under its namespace, by the exchange.
Tools that an `additional_tools` item adds, or that a search found, are declared with the others, and those that a
`tool_change` removes are not.
Whether a target has these forms is found out by a trial, so that no adapter states it twice. See decision 0026.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from .adapter import Kind
from .mapping import Fated
from .trial import write_trial
from .writing import Writer

__all__ = ["flatten"]

Node = dict[str, Any]

_CALLS = frozenset(("function_call", "custom_tool_call", "function_call_output", "custom_tool_call_output"))
_NAMED = frozenset(("function", "custom"))
_FOUND = frozenset(("tool_search_output", "tool_search_result"))
_CHANGES = frozenset(("additional_tools", "tool_change")) | _FOUND


def flatten(request: Node, writer: Writer, kind: Kind, plain: bool) -> list[tuple[Node, Node]]:
    """Make one flat list of the tools of `request`, in place; gives the nodes that were made, with the old ones.

    `plain` says that no item of the conversation declares a tool or names a namespace.
    """
    tools = request.get("tools")
    listed = tools if type(tools) is list else []
    given = request.get("input")
    items: list[Node] = given if type(given) is list else []
    grouped = any(tool.get("type") == "namespace" for tool in listed)
    changing = named = False
    if not plain:
        changing = any(item.get("type") in _CHANGES for item in items)
        named = any(type(item.get("namespace")) is str for item in items)
    if not (grouped or changing or named):
        return []
    done = _Flattening(request, writer, kind)
    if changing:
        done.apply_changes(items)
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
        tools = before = list(self.request.get("tools") or ())
        for item in gone:
            if item["type"] == "additional_tools":
                tools = self._with(tools, item.get("tools") or ())
            elif item["type"] in _FOUND:
                tools = self._found(tools, item.get("tools") or ())
            elif item.get("action") == "add" and type(item.get("tool")) is dict:
                tools = self._with(tools, [item["tool"]])
            elif item.get("action") == "add":
                tools = self._with(tools, [tool for tool in before if _is_changed(tool, item)])
            elif item.get("action") == "remove":
                tools = [left for tool in tools for left in self._without(tool, item)]
            else:
                continue
            self.writer.piece(_hold, item)
        applied = {id(item) for item in gone if item.get("action", "add") in ("add", "remove")}
        if applied:
            self.added = True
            self.put("tools", tools)
            self.put("input", [item for item in items if id(item) not in applied])

    def _without(self, tool: Node, change: Node) -> list[Node]:
        """What is left of a tool by a change that removes it, or one tool of its server."""
        if not _is_changed(tool, change):
            return [tool]
        name, allowed = change.get("name"), tool.get("allowed_tools")
        if tool.get("type") == "mcp" and name is not None and type(allowed) is list and allowed != [name]:
            return [self.copy(tool, allowed_tools=[each for each in allowed if each != name])]
        self.writer.drop(tool, "removed in the course of the conversation")
        return []

    def _with(self, tools: list[Node], more: Any) -> list[Node]:
        """The tools and `more` of them: what is declared anew takes the place of what went by its name."""
        more = [tool for tool in more if type(tool) is dict]
        keys = {_key(tool) for tool in more}
        for tool in tools:
            if _key(tool) in keys and not any(tool is each for each in more):
                self.writer.piece(_anew, tool)
        return [*(tool for tool in tools if _key(tool) not in keys), *more]

    def _found(self, tools: list[Node], more: Any) -> list[Node]:
        """The tools and those of `more` that are not declared: what a search loads may be declared to be loaded."""
        out = list(tools)
        for tool in more:
            place = next((index for index, each in enumerate(out) if _key(each) == _key(tool)), None)
            if place is None:
                out.append(self._loaded(tool))
                continue
            known = out[place].get("tools")
            if tool.get("type") != "namespace" or type(known) is not list or type(tool.get("tools")) is not list:
                loaded = self._loaded(tool)
                if _undeferred(out[place]) == _undeferred(tool):
                    self.writer.drop(tool, "declared among the tools", "approximated")
                else:
                    self.writer.piece(_anew, out[place])
                    out[place] = loaded
                continue
            members = self._found(known, tool["tools"])
            self.writer.piece(_regroup, tool)
            if len(members) > len(known):
                out[place] = self.copy(out[place], tools=members)
        return out

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
        lacking = [group for group in groups if id(group) in trial.whole]
        if not lacking and ("namespace",) not in trial.parts.get(id(call), ()):
            return
        names = _Names({str(tool.get("name")) for tool in tools if tool.get("type") in _NAMED})
        out: list[Node] = []
        for tool in tools:
            if not any(tool is group for group in lacking):
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
        """The tools of a namespace under joined names; the first one says what the namespace is about."""
        about, out = group.get("description"), list[Node]()
        for each in group.get("tools") or ():
            name = names.join(group.get("name"), each.get("name")) if type(each) is dict else None
            if name is None:  # nothing that can be joined: it is for the writer to say what becomes of it
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
        for place, entry in enumerate(listed):
            entries = names.meant(entry) if type(entry) is dict else [entry]
            if entries != [entry]:
                self.writer.report(self.request, ("tool_choice", "tools", place), "approximated", "by the joined names")
            made += entries
        if made != listed:
            self.put("tool_choice", {**choice, "tools": made})


class _Names:
    """Joined names of tools by namespace and name, none of which another tool goes by."""

    def __init__(self, taken: set[str]) -> None:
        self.taken = taken
        self.joined: dict[tuple[str, str], str] = {}

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
        """What an entry of a choice says with the joined names: all tools of a namespace, one of them, or itself."""
        kind, name, space = entry.get("type"), entry.get("name"), entry.get("namespace")
        if kind == "namespace":
            return [{"type": "function", "name": new} for (group, _), new in self.joined.items() if group == name]
        if kind not in _NAMED or name in self.taken - set(self.joined.values()):
            return [entry]
        found = [new for (group, own), new in self.joined.items() if own == name and space in (None, group)]
        return [{"type": kind, "name": new} for new in found] or [entry]


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
        type(tools) is list and bool(tools) and all(type(tool) is dict and _key(tool)[1] is not None for tool in tools)
    )


def _undeferred(tool: Node) -> Node:
    return {key: value for key, value in tool.items() if key not in ("defer_loading", "extra")}


def _regroup(c: Node, w: Writer) -> None:
    """Consume a namespace of found tools, which are with those that it declares."""
    c.pop("tools", None)
    for key in [key for key in c if key != "extra"]:
        c[key] = Fated("approximated", "declared among the tools")


def _anew(c: Node, w: Writer) -> None:
    """Consume a tool that is declared anew later: its name is all that is left of it."""
    detail = "declared anew in the course of the conversation"
    for key in [key for key in c if key != "extra"]:
        c[key] = Fated("approximated" if key in ("name", "server_label") else "lost", detail)


def _group(held: bool, c: Node, w: Writer) -> None:
    """Consume a namespace, whose tools have joined names; the first of them says what it is about."""
    c.pop("tools", None)
    if "name" in c:
        c["name"] = Fated("approximated", "joined to the names of its tools")
    if c.get("description"):
        c["description"] = (
            Fated("approximated", "in the description of its first tool") if held else Fated("lost", "it has no tools")
        )


def _key(tool: Node) -> tuple[Any, Any]:
    return (tool.get("type"), tool.get("server_label") if tool.get("type") == "mcp" else tool.get("name"))


def _is_changed(tool: Node, change: Node) -> bool:
    """Whether a change is about this tool."""
    label, name = change.get("server_label"), change.get("name")
    if label is not None:
        return bool(tool.get("type") == "mcp" and tool.get("server_label") == label)
    return name is not None and tool.get("name") == name
