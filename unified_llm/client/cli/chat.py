"""A conversation on a terminal: what is typed in, what streams out, and a model that can be changed on the way.

The answer goes to `out` and nothing else does; reasoning, tool calls and remarks go to `err`. Nothing here depends on a
terminal library: lines come from its caller.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from ...foundation.errors import UnifiedLLMError
from ...foundation.terminal import columns, error_line, failure, printable
from ..client import Client
from ..tools.run_results import RunResult
from ..tools.tool_loop import ToolOutput, TurnDone

__all__ = ["COMMANDS", "Chat"]

COMMANDS = {
    "/help": "this list",
    "/model [PROVIDER/MODEL]": "continue the conversation with another model",
    "/losses": "show losses of the last turn",
    "/cost": "show tokens and cost",
    "/save FILE": "save the conversation as JSON",
    "/attach FILE": "send an image or another file with the next line",
    "/new": "start a new conversation",
    "/quit": "exit",
}
_DIM, _BOLD, _PLAIN = "\033[2m", "\033[1m", "\033[0m"
_THOUGHTS = frozenset(("response.reasoning_text.delta", "response.reasoning_summary_text.delta"))
_WORDS = frozenset(("response.output_text.delta", "response.refusal.delta"))
_SHOWN = 400


class Chat:
    """One conversation. `line` takes what was typed; it gives False when the conversation is over.

    `options` go into every request. `failed` is what the last turn failed with.

    >>> import io, unified_llm as ul
    >>> out, err = io.StringIO(), io.StringIO()
    >>> chat = Chat(ul.Client(), "local/echo", out=out, err=err)
    >>> chat.line("Good morning."), chat.line("/quit"), out.getvalue()
    (True, False, 'Good morning.\\n')
    """

    def __init__(
        self,
        client: Client,
        model: str,
        *,
        out: IO[str],
        err: IO[str],
        color: bool = False,
        tools: Sequence[Any] = (),
        options: Mapping[str, Any] | None = None,
    ) -> None:
        self.client = client
        self.model: str = model
        self.tools: list[Any] = list(tools)
        self.out = out
        self.err = err
        self.color = color
        self.options: dict[str, Any] = dict(options or {})
        self.runs: list[RunResult] = []
        self.failed: Exception | None = None
        self._open: str | None = None
        self._attached: list[Path] = []
        self._commands: dict[str, Callable[[str], None]] = {
            "/help": self._help,
            "/model": self._model,
            "/losses": self._losses,
            "/cost": self._cost,
            "/save": self._save,
            "/attach": self._attach,
            "/new": self._new,
        }

    def line(self, text: str) -> bool:
        """Run a line: a command, or a text for the model."""
        text = text.strip()
        word, _, rest = text.partition(" ")
        if word in ("/quit", "/exit"):
            return False
        if word in self._commands:
            self._commands[word](rest.strip())
        elif word.startswith("/") and word[1:].isalpha():
            self.note(f"unknown command {word}; /help lists the commands")
        elif text:
            self.ask(text)
        return True

    def ask(self, text: str) -> None:
        """One turn, streamed. An error is printed, and leaves the conversation unchanged."""
        self.failed = None
        previous = self.runs[-1] if self.runs else None
        tools = {"tools": self.tools} if self.tools else {}
        try:
            given = [text, *self._attached] if self._attached else text
            asked: dict[str, Any] = {"model": self.model, "input": given, "previous": previous, **tools, **self.options}
            with self.client.responses.run(stream=True, **asked) as stream:
                for event in stream:
                    self._show(event)
                run = stream.get_final_result()
        except KeyboardInterrupt:
            self.note("interrupted; turn discarded")
        except (UnifiedLLMError, ValueError, TypeError, OSError) as error:
            self.failed = error
            self.error(error)
        else:
            self._end()
            self._attached.clear()
            self.runs.append(run)
            lost = [loss for loss in run.losses if loss.fate == "lost"]
            if lost:
                self.note(
                    f"{len(lost)} loss{'es' * (len(lost) > 1)}; /losses shows {'them' if len(lost) > 1 else 'it'}"
                )
            if run.pending:
                self.note(f"{len(run.pending)} tool call{'s have' if len(run.pending) > 1 else ' has'} no handler")
        finally:
            self._end()

    # ---- what is shown ----------------------------------------------------------------------------------------------

    def note(self, text: str) -> None:
        """A remark."""
        self._end()
        print(self._dim(f"[{text}]"), file=self.err, flush=True)

    def error(self, error: Exception) -> None:
        """An error, as other commands print theirs."""
        self._end()
        print(error_line(failure(error)[0]), file=self.err, flush=True)

    def _dim(self, text: str) -> str:
        text = printable(text)
        return f"{_DIM}{text}{_PLAIN}" if self.color else text

    def _show(self, event: Any) -> None:
        kind = event.type
        if kind in _WORDS:
            self._print("words", event.delta)
        elif kind in _THOUGHTS:
            self._print("thoughts", event.delta)
        elif kind == "response.output_item.done":
            self._item(event.item)
        elif isinstance(event, ToolOutput):
            self._end()
            output = event.item_node.get("output")
            told = output if isinstance(output, str) else json.dumps(output, ensure_ascii=False)
            sign = "failed" if event.item_node.get("is_error") else "gave"
            print(self._dim(f"  {event.call_node.get('name')} {sign} {_short(told)}"), file=self.err, flush=True)
        elif isinstance(event, TurnDone):
            self._end()

    def _print(self, what: str, text: str) -> None:
        if self._open != what:
            self._end()
            if what == "thoughts":
                print(_DIM if self.color else "[thinks] ", end="", file=self.err)
            self._open = what
        file = self.out if what == "words" else self.err
        print(printable(text), end="", file=file, flush=True)

    def _end(self) -> None:
        """End the line that is being written."""
        if self._open == "words":
            print(file=self.out, flush=True)
        elif self._open == "thoughts":
            print(_PLAIN if self.color else "", file=self.err, flush=True)
        self._open = None

    def _item(self, item: Any) -> None:
        kind = item.type
        if kind in ("function_call", "custom_tool_call"):
            said = item.arguments if kind == "function_call" else item.input
            self._end()
            print(self._dim(f"  calls {item.name}({_short(said or '')})"), file=self.err, flush=True)
        elif kind not in ("message", "reasoning"):
            self._end()
            print(self._dim(f"  {kind}"), file=self.err, flush=True)
        elif kind == "message":
            for part in item.content if isinstance(item.content, list) else ():
                if part.type not in ("output_text", "refusal"):
                    self.note(part.type)

    # ---- commands ---------------------------------------------------------------------------------------------------

    def _help(self, _: str) -> None:
        for command, said in COMMANDS.items():
            print(f"  {command:26}{said}", file=self.err)

    def _model(self, name: str) -> None:
        if name:
            try:
                own = {key: value for key, value in self.options.items() if key == "upstream"}
                self.client._core.upstreams(self.client._core.call({"model": name, **own}))
            except UnifiedLLMError as error:
                self.error(error)
                return
            self.model = name
        self.note(f"the model is {self.model}")

    def _losses(self, _: str) -> None:
        told = self.runs[-1].losses.table(width=columns(self.err)) if self.runs else "Nothing was sent yet."
        print(told, file=self.err)

    def _cost(self, _: str) -> None:
        for run in self.runs:
            usage = run.usage
            priced = "no listed price" if run.cost is None else str(run.cost)
            told = f"{usage.input_tokens or 0} in, {usage.output_tokens or 0} out, {priced}"
            print(printable(f"  {run.final.upstream.name}: {told}"), file=self.err)
        if not self.runs:
            print("Nothing was sent yet.", file=self.err)

    def _save(self, path: str) -> None:
        items = self.runs[-1].item_nodes if self.runs else []
        try:
            with open(path or "conversation.json", "w", encoding="utf-8") as file:
                json.dump(items, file, ensure_ascii=False, indent=1)
        except OSError as error:
            self.error(OSError(f"{path}: {error.strerror}"))
        else:
            self.note(f"{len(items)} items in {path or 'conversation.json'}")

    def _attach(self, path: str) -> None:
        file = Path(path).expanduser()
        if path and file.is_file():
            self._attached.append(file)
            self.note(f"{file.name} is sent with the next line")
        else:
            self.error(FileNotFoundError(f"{path}: no such file" if path else "/attach requires the path of a file"))

    def _new(self, _: str) -> None:
        self._attached.clear()
        self.runs.clear()
        self.note("a new conversation")


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _SHOWN else f"{flat[:_SHOWN]}... ({len(text)} characters)"
