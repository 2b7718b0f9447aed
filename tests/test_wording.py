"""The words of the documentation and of the code: plain ones, from docs/glossary.md, in US spelling.

Of a page everything is read but code, link targets and tables generated from declarations; of a module the docstrings,
comments, strings of several words and names of tests; of other text files their comments. Everything written by hand is
read: `HISTORY`, `GENERATED` and `QUOTED` are what is not.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DENIED = re.compile(
    r"\b(?:nobody|somebody|whoever|whom|mend(?:s|ed)?|comes? home|way back|bears?|sealed|pictures?|sound|of one's own"
    r"|raw text|elder|none that|hubs?)\b|(?<!there )\bis no (?!longer)[a-z]",
    re.IGNORECASE,
)
BRITISH = re.compile(
    r"\b(?:catalogu|licenc|behaviou|colou?r(?<=our)|(?:un)?favou?r(?<=our)|honou?r(?<=our)|neighbou|artefact|centre|spelt"
    r"|misspelt|labell|modell|travell|grey\b|learnt\b|whilst|amongst|fulfil\b|defence|analys(?:e[sd]?|ing)\b"
    r"|(?:un|de|re)?(?:recogn|normal|serial|initial|synchron|organ|summar|optim|util|categor|priorit|minim|maxim|token"
    r"|material|standard|special|author|custom|random|general|final|canonical|parallel)is(?:e[sd]?|ing|able|ation)\b)\w*",
    re.IGNORECASE,
)
# Documents, servers, fields and functions do not speak: they contain, declare, return, require, support, report.
SPEAKING = re.compile(
    r"\b(?:say(?:s|ing)?|said|tell(?:s|ing)?|told|know(?:s|ing)?|knew|want(?:s|ed|ing)?|speak(?:s|ing)?|spoken?"
    r"|hear(?:s|d|ing)?|ask(?:s|ed|ing)?|in silence)\b",
    re.IGNORECASE,
)
# People and companies do.
SPEAKERS = re.compile(
    r"\b(?:you|users?|callers?|developers?|people|OpenAI|Anthropic|Google|providers?)"
    r"(?: (?:may|can|could|must|should|would|do|does|did|not|to|cannot|never|first|have|has|explicitly))*"
    rf" {SPEAKING.pattern}",
    re.IGNORECASE,
)
HISTORY = {"CHANGELOG.md", "docs/decisions"}  # what was written then stays as it was
GENERATED = {"docs/dialects.md", "docs/capabilities.md", "docs/traps.md", "docs/sdk-drift.md"}
CODE = ["unified_llm", "adapters", "benchmarks", "docs", "examples", "tests"]
PROMPTS = {"benchmarks", "tests"}  # folders whose strings are what people and models say
QUOTED = {"tests/test_wording.py"}
COMMENTED = ["Makefile", ".ci/*", "*.toml", "adapters/**/*.toml", "examples/**/*.toml", "unified_llm/**/*.toml"]


def pages() -> list[Path]:
    found = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.md")])
    names = [(page, page.relative_to(ROOT).as_posix()) for page in found]
    return [page for page, name in names if name not in GENERATED and not any(name.startswith(old) for old in HISTORY)]


def prose(text: str) -> str:
    """The words of a page, on their own lines: without code, link targets and generated tables."""
    for pattern in (r"<!-- (?:natives|cannot) -->.*?<!-- end -->", r"^```.*?^```", r"`[^`\n]*`", r"\]\([^)\n]*\)"):
        text = re.sub(pattern, lambda cut: "\n" * cut[0].count("\n"), text, flags=re.DOTALL | re.MULTILINE)
    return text


def texts(source: str) -> Iterator[tuple[int, str, bool]]:
    """Line and text of comments, docstrings, strings of several words and names of tests; True for the first two."""
    yield from comments(source)
    documented: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            if node.body and isinstance(node.body[0], ast.Expr):
                documented.add(id(node.body[0].value))
            if not isinstance(node, (ast.Module, ast.ClassDef)) and node.name.startswith("test_"):
                yield node.lineno, node.name.replace("_", " "), False
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value.strip():
            text = re.sub(r"`[^`\n]*`|^\s*(?:>>>|\.\.\.).*$", "", node.value, flags=re.MULTILINE)
            yield node.lineno, text, id(node) in documented


def comments(source: str) -> Iterator[tuple[int, str, bool]]:
    """Line and text of comments that may have a denied word. Tokens take long: only those of such sources are read."""
    if any(denied(re.sub(r"`[^`]*`", "", line[line.index("#") :])) for line in source.splitlines() if "#" in line):
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type == tokenize.COMMENT:
                yield token.start[0], re.sub(r"`[^`]*`", "", token.string), True


def denied(text: str, speaks: bool = False) -> list[str]:
    """The denied words of a text; those of speech too, unless it `speaks`."""
    line = " ".join(text.split())
    found = [found[0] for words in (DENIED, BRITISH) for found in words.finditer(line)]
    if not speaks:
        found += SPEAKING.findall(SPEAKERS.sub("", re.sub(r"'[\w/]*'", "", line)))  # not in names and paths
    return found


def commented() -> list[Path]:
    return sorted({path for pattern in COMMENTED for path in ROOT.glob(pattern)})


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.relative_to(ROOT).as_posix())
def test_words_of_a_page(page: Path) -> None:
    paragraphs = re.split(r"\n\s*\n", prose(page.read_text("utf-8")))
    assert [(word, " ".join(each.split())[:90]) for each in paragraphs for word in denied(each)] == []


@pytest.mark.parametrize("folder", CODE)
def test_words_of_a_folder(folder: str) -> None:
    modules = [path for path in sorted((ROOT / folder).rglob("*.py")) if str(path.relative_to(ROOT)) not in QUOTED]
    assert modules
    found = [
        f"{module.relative_to(ROOT)}:{line}: {word}"
        for module in modules
        for source in (module.read_text("utf-8"),)
        for line, text, prose in texts(source)
        for word in denied(text, speaks=not prose and folder in PROMPTS)
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("path", commented(), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_words_of_comments(path: Path) -> None:
    lines = enumerate(path.read_text("utf-8").splitlines(), 1)
    comments = [(number, line.partition("#")[2]) for number, line in lines if "#" in line]
    assert [(number, word) for number, text in comments for word in denied(re.sub(r'"[^"]*"', "", text))] == []


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("What nobody has is no error.", 2),
        ("There is no shortcut; the id is no longer valid.", 0),
        ("Pictures come\nhome sealed.", 3),
        ("`sealed` and [a page](mended.md)", 0),
        ("The catalogue of neighbours was normalised, honoured and misspelt.", 5),
        ("Catalogs, honors, sizes, promises, exercises, colors and parallel runs; it raises otherwise.", 0),
    ],
)
def test_denied_words_are_found(text: str, count: int) -> None:
    assert len(denied(prose(text))) == count


def test_documents_do_not_speak() -> None:
    text = "The report says what the model wants. You may say so; its field told it. The user cannot know."
    assert denied(text) == ["says", "wants", "told"] and denied(text, speaks=True) == []


def test_words_in_code_are_found() -> None:
    source = '"""What nobody needs."""\n# somebody\nsealed = f"a value is no {list} and whom"\nmend = "sealed"\n'
    assert sorted(word for _, text, _ in texts(source) for word in denied(text)) == ["nobody", "somebody", "whom"]
