"""Documents alone, without any SDK: a request of shipped traffic through every protocol, its answer, and what it cost.

`make demo ARGS=--traffic`, or `python examples/convert_traffic.py` where unified_llm is installed.
"""

from __future__ import annotations

import json
from pathlib import Path

import unified_llm as ul

TRAFFIC = Path(__file__).parent / "traffic"
SOURCE = "openai-chat"


def title(text: str) -> None:
    print(f"\n\033[1m{text}\033[0m" if __import__("sys").stdout.isatty() else f"\n{text}\n{'=' * len(text)}")


def main() -> None:
    body = (TRAFFIC / "agent.chat.json").read_bytes()
    sse = (TRAFFIC / "answer.chat.sse").read_bytes()

    for target in ul.protocols():
        done = ul.convert(body, source=SOURCE, target=target)
        if target == SOURCE:
            title(f"A request from {SOURCE} to {target}: the identity, through the canonical model")
            print("equal:", done.value == json.loads(body), "| losses:", len(done.losses))
            continue
        title(f"A request from {SOURCE} to {target}")
        text = json.dumps(done.value, indent=1, ensure_ascii=False).splitlines()
        print("\n".join(text[:24]), f"\n... {len(text) - 24} more lines")
        print(done.losses.table())

        title(f"Its answer, a stream of {SOURCE}, as a client of {target} reads it")
        events = b"".join(ul.translate_sse([sse], source=SOURCE, target=target, exchange=done.exchange))
        frames = events.decode(errors="replace").strip().split("\n\n")
        for frame in frames[:4] + ["..."] + frames[-2:]:
            print(frame[:160])
        print(f"({len(frames)} frames)")


if __name__ == "__main__":
    main()
