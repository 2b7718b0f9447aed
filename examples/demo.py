"""One agent with two tools, written for each of the three official SDKs, and another provider behind every one of them.

`make demo`, or `python examples/demo.py` where unified_llm and the SDKs are installed. It needs no key and no network:
`local/echo` answers in all six protocols, on the wire, and signs its reasoning. `--matrix` shows the table
at the end alone; `--traffic` is the other demo, documents converted without any SDK (convert_traffic.py).
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

WANTED = "pip install 'unified-llm[cli,openai,anthropic,google]'; make demo does so in an environment of its own"
try:
    from rich.box import SIMPLE
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text
except ModuleNotFoundError as error:
    raise SystemExit(f"the demo needs {error.name}: {WANTED}") from None

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE / "swap_providers")]

from travel import QUESTION  # noqa: E402
from watching import Run, Surface  # noqa: E402

console = Console(highlight=False, width=None if sys.stdout.isatty() else 100)

PROTOCOLS = {
    "openai-chat": "Chat",
    "openai-responses": "Responses",
    "anthropic-messages": "Messages",
    "google-generate-content": "generateContent",
    "google-interactions": "Interactions",
}
STYLES = {"thinks": "dim italic", "calls": "cyan", "gets": "green", "says": "bold"}
FATES = {"approximated": "yellow", "emulated": "yellow", "added": "blue", "parked": "magenta", "lost": "red"}


def surfaces() -> list[Surface]:
    """The agents of `swap_providers/`; the SDKs are imported here, because that takes a while."""
    import anthropic
    import anthropic_agent
    import google_agent
    import openai
    import openai_agent
    from google import genai
    from google.genai import types

    def oai(http: Any) -> Any:
        return openai.OpenAI(api_key="unused", http_client=http, max_retries=0)

    def claude(http: Any) -> Any:
        return anthropic.Anthropic(api_key="unused", http_client=http, max_retries=0)

    def gemini(http: Any) -> Any:
        return genai.Client(api_key="unused", http_options=types.HttpOptions(httpx_client=http))

    line = "openai.OpenAI()", "openai.OpenAI(http_client=ul.http_client({}))"
    theirs = "anthropic.Anthropic()", "anthropic.Anthropic(http_client=ul.http_client({}))"
    google = "genai.Client()", "genai.Client(http_options=HttpOptions(httpx_client=ul.http_client({})))"
    return [
        Surface("openai", "openai-responses", *line, oai, openai_agent.responses),
        Surface("anthropic", "anthropic-messages", *theirs, claude, anthropic_agent.messages),
        Surface("google-genai", "google-generate-content", *google, gemini, google_agent.contents),
        Surface("openai", "openai-chat", *line, oai, openai_agent.chat),
        Surface("google-genai", "google-interactions", *google, gemini, google_agent.interactions),
    ]


# ---- what is shown ------------------------------------------------------------------------------------------------


def show(surface: Surface, upstream: str) -> None:
    """One agent at work, live, and what became of its requests and responses."""
    console.print()
    console.rule(f"[bold]{surface.sdk} SDK[/] ({PROTOCOLS[surface.protocol]})  →  {PROTOCOLS[upstream]}", style="cyan")
    swap = surface.swapped.format(f'"local/echo:{upstream}"')
    console.print(Text(f"- client = {surface.plain}", style="red"))
    console.print(Text(f"+ client = {swap}", style="green"), soft_wrap=True)
    console.print(Text("    you ", style="dim") + Text(QUESTION))
    run, last = Run(surface, upstream, slow=15), None
    for kind, text in run:
        if kind == "gets":
            console.print(Text(f" → {text}", style=STYLES[kind]), end="")
        else:
            if kind != last or kind == "calls":
                console.print("" if last is None else "\n", Text(f"{kind:>7} ", style="dim"), sep="", end="")
            console.print(Text(text, style=STYLES[kind]), end="", soft_wrap=True)
        sys.stdout.flush()
        last = kind
    console.print("\n")
    console.print(table(run))


def table(run: Run) -> Table:
    """What became of the agent's requests and responses, by fate."""
    said = "thoughts, calls, text: word for word" if run.word_for_word() else "[red]not the original[/]"
    home = "signed reasoning was returned and accepted" if run.seals() else "[red]no signed reasoning was returned[/]"
    out = Table("", "of the requests", "of the responses", box=None, pad_edge=False, header_style="dim")
    out.add_row("[green]survived[/]", ", ".join(run.arrived()), f"{said}; {home}")
    asked, answered = run.fates(answers=False), run.fates(answers=True)
    for fate, color in FATES.items():
        if fate in asked or fate in answered:
            out.add_row(f"[{color}]{fate}[/]", listed(asked.get(fate, {})), listed(answered.get(fate, {})))
    return out


def listed(found: dict[str, str], most: int = 4) -> Text:
    """Fields with their reasons, the first ones by name."""
    out = Text(", ").join(
        Text(name) + Text(f" ({detail})" if detail else "", style="dim") for name, detail in [*found.items()][:most]
    )
    return out + Text(f", and {len(found) - most} more" if len(found) > most else "", style="dim")


def matrix(known: list[Surface]) -> Table:
    """Every surface over every upstream: 25 conversations, each with two requests."""
    out = Table(title="What survived, SDK by upstream", title_style="bold", header_style="dim", box=SIMPLE)
    out.add_column("SDK, and the API it uses")
    for title in PROTOCOLS.values():
        out.add_column(title)
    for surface in sorted(known, key=lambda each: [*PROTOCOLS].index(each.protocol)):
        out.add_row(f"{surface.sdk}, {PROTOCOLS[surface.protocol]}", *(cell(Run(surface, each)) for each in PROTOCOLS))
    out.caption = (
        "T text   C calls and their results   M signed reasoning was returned to its provider (Chat signs none)\n"
        "number: settings of the request that were lost   =: nothing was translated, nothing changed"
    )
    return out


def cell(run: Run) -> Text:
    """What came through in one conversation."""
    for _ in run:
        pass
    kept = {"T": run.heard("says"), "C": run.heard("gets"), "M": run.seals()}
    out = Text(" ").join(
        Text(sign if found else "·", style="green" if found else "dim") for sign, found in kept.items()
    )
    lost = len(run.fates(answers=False).get("lost", ()))
    return out + Text(f"  {lost}" if run.losses else "  =", style="red" if lost else "dim")


def main(arguments: list[str]) -> None:
    if unknown := {*arguments} - {"--matrix", "--traffic"}:
        raise SystemExit(f"{min(unknown)} is neither --matrix nor --traffic")
    if "--traffic" in arguments:
        import convert_traffic

        return convert_traffic.main()
    console.print("[bold]One agent, two tools, three official SDKs, and another provider behind each of them.[/]")
    console.print("[dim]No key and no network: local/echo, a lenient mock, answers in all six protocols.[/]")
    try:
        known = surfaces()
    except ModuleNotFoundError as error:
        raise SystemExit(f"the demo needs {error.name}: {WANTED}") from None
    if "--matrix" not in arguments:
        for surface, upstream in zip(known, ("anthropic-messages", "google-generate-content", "openai-responses")):
            show(surface, upstream)
    console.print()
    console.print(matrix(known))
    console.print("\n[dim]The agents: examples/swap_providers/. Documents alone: make demo ARGS=--traffic[/]")


if __name__ == "__main__":
    main(sys.argv[1:])
