"""The pytest plugin: what a project relies on, as tests.

`pytest --unified-llm-drift` compares what is carried today with `capabilities.lock.json`, `--unified-llm-update`
rewrites the file. Marks: `unified_llm_survives`, and `unified_llm_notimpl`, `unified_llm_notyet`, `unified_llm_never`
for what is known not to work, strict: an improvement fails until the mark goes. Fixtures: `conversion_report`, and
`unified_llm_upstream`, once a protocol. A test that fails shows the losses of its fixtures.

Loaded by every pytest run where the package is installed: nothing but pytest is imported until something is used.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from ..losses import Losses
    from .lock import Lock
    from .reporting import Report
    from .upstream import FakeUpstream

SURVIVES = "unified_llm_survives"
GAPS = {
    "unified_llm_notimpl": "not implemented by the adapter yet",
    "unified_llm_notyet": "not supported by the protocol yet",
    "unified_llm_never": "will not be supported by the protocol",
}
"""Marks for what is known not to work, in the manner of Ibis."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options and the settings of the ini file."""
    group = parser.getgroup("unified-llm", "capability drift between LLM protocols")
    group.addoption(
        "--unified-llm-drift",
        action="store_true",
        help="compare today's capabilities with the lock file, capabilities.lock.json",
    )
    group.addoption("--unified-llm-update", action="store_true", help="rewrite the lock file")
    group.addoption("--unified-llm-lock", metavar="FILE", help="path of the lock file, relative to the root directory")
    parser.addini("unified_llm_lock", "the lock file of --unified-llm-drift", default="capabilities.lock.json")
    parser.addini(
        "unified_llm_protocols",
        "protocols that the fixture unified_llm_upstream runs a test with (default: all)",
        type="args",
        default=[],
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the marks."""
    config.addinivalue_line(
        "markers",
        f"{SURVIVES}(*capabilities, source, target, kind='request', model='', fates=None): fail unless the "
        "capabilities (globs) survive the conversion from source to target, with one of the fates if any are given",
    )
    for name, meaning in GAPS.items():
        config.addinivalue_line(
            "markers",
            f"{name}(*protocols, reason='', raises=None): expect a failure on these target protocols (globs; default: "
            f"every target), {meaning}; a pass is an error",
        )


# ---- the lock file as tests -----------------------------------------------------------------------------------------


def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    """Apply the marks of known gaps, and add the tests of the lock file where an option requests them."""
    for item in items:
        _known_gaps(item)
    update = config.getoption("unified_llm_update")
    if not update and not config.getoption("unified_llm_drift"):
        return
    name = config.getoption("unified_llm_lock") or config.getini("unified_llm_lock")
    file = _LockFile.from_parent(session, path=config.rootpath / name)
    items[:0] = [_Update.from_parent(file, name="update")] if update else file.collect()


class _LockFile(pytest.File):
    """The lock file, with a test for each way it watches."""

    _lock: Lock | None = None

    def lock(self) -> Lock:
        from .lock import Lock

        if self._lock is None:
            self._lock = Lock.read(self.path)
        return self._lock

    def collect(self) -> list[pytest.Item]:
        if not self.path.exists():
            return [_Unreadable.from_parent(self, name="missing", reason=_missing(self.path))]
        try:
            lock = self.lock()
            ways = list(dict.fromkeys((*way, each.model) for each in lock.watch for way in each.ways()))
        except (ValueError, LookupError) as error:
            return [_Unreadable.from_parent(self, name="unreadable", reason=str(error))]
        except Exception as error:
            from ..foundation.errors import UnifiedLLMError

            if not isinstance(error, UnifiedLLMError):
                raise
            return [_Unreadable.from_parent(self, name="unreadable", reason=f"{self.path.name}: {error}")]
        # Cells that are locked and no longer watched are measured too.
        ways += [(key.source, key.target, key.model) for key in lock.fates]
        found: list[pytest.Item] = []
        for one, other, model in dict.fromkeys(ways):
            name = f"{one} -> {other}" + (f" ({model})" if model else "")
            found.append(_Way.from_parent(self, name=name, way=(one, other, model)))
        return found


def _missing(path: Path) -> str:
    return f"{path.name} is not there; pytest --unified-llm-update writes it"


class _Drifted(Exception):
    """The measured cells differ from the lock."""


class _LockItem(pytest.Item):
    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, _Drifted):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self.path, None, f"{self.path.name}: {self.name}"


class _Way(_LockItem):
    """Everything that is watched between one source and one target."""

    def __init__(self, *, way: tuple[str, str, str], **arguments: Any) -> None:
        super().__init__(**arguments)
        self.way = way

    def runtest(self) -> None:
        from .lock import Lock, format_changes

        assert isinstance(self.parent, _LockFile)
        locked = self.parent.lock()
        source, target, model = self.way
        mine = {key: fate for key, fate in locked.fates.items() if (key.source, key.target, key.model) == self.way}
        watched = [each for each in locked.watch if (source, target) in each.ways() and each.model == model]
        observed = {key: cell for each in watched for key, cell in each.cells((source, target)).items()}
        observed = {key: cell for key, cell in observed.items() if cell.fate != "-"}
        changes = Lock(tuple(watched), mine).changes(observed)
        if changes:
            raise _Drifted(f"{format_changes(changes)}\npytest --unified-llm-update accepts this")


class _Update(_LockItem):
    """Rewrites the lock file; what it watches stays."""

    def runtest(self) -> None:
        from .lock import Lock, format_changes

        try:
            locked = Lock.read(self.path) if self.path.exists() else Lock()
        except ValueError as error:
            raise _Drifted(str(error)) from error
        observed = locked.observed()
        changes = locked.changes(observed)
        locked.renewed(observed).write(self.path)
        self.add_report_section("call", "unified-llm", format_changes(changes) or "nothing changed")


class _Unreadable(_LockItem):
    def __init__(self, *, reason: str, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.reason = reason

    def runtest(self) -> None:
        raise _Drifted(self.reason)


# ---- marks ----------------------------------------------------------------------------------------------------------


def _known_gaps(item: pytest.Item) -> None:
    """A gap mark that names the test's target, or none, is a strict xfail."""
    for name, meaning in GAPS.items():
        for mark in item.iter_markers(name):
            targets = _targets(item)
            if mark.args and (mistake := _mistake(mark, targets)):
                item.stash.setdefault(_MISTAKES, []).append(mistake)
                continue
            if mark.args and not any(fnmatchcase(target, glob) for target in targets for glob in mark.args):
                continue
            reason = mark.kwargs.get("reason") or meaning
            more = {"raises": mark.kwargs["raises"]} if mark.kwargs.get("raises") else {}
            item.add_marker(pytest.mark.xfail(reason=f"{name}: {reason}", strict=True, **more))


_MISTAKES = pytest.StashKey[list[str]]()


def _mistake(mark: pytest.Mark, targets: list[str]) -> str:
    """Why the protocols of a gap mark can never match; "" if they can."""
    if not targets:
        return (
            f"{mark.name}({', '.join(map(repr, mark.args))}): the test has no target protocol; use the fixture "
            f"unified_llm_upstream, a parameter named target or the mark {SURVIVES}, or name no protocol"
        )
    from difflib import get_close_matches

    from ..engine.registry import protocols

    known = protocols()
    for glob in mark.args:
        if not any(fnmatchcase(name, glob.partition(":")[0]) for name in known):
            near = get_close_matches(glob, known, 1)
            meant = f"; did you mean {near[0]!r}?" if near else f"; installed: {', '.join(known)}"
            return f"{mark.name}: {glob!r} matches no protocol{meant}"
    return ""


def _targets(item: pytest.Item) -> list[str]:
    """The protocols a test is about: its upstream's, and those its marks name."""
    found = [mark.kwargs["target"] for mark in item.iter_markers(SURVIVES) if "target" in mark.kwargs]
    callspec = getattr(item, "callspec", None)
    if callspec is not None:
        found += [value for key, value in callspec.params.items() if key in ("unified_llm_upstream", "target")]
    return [target for target in found if isinstance(target, str)]


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> None:
    """Check the `unified_llm_survives` marks of a test. Raises `pytest.UsageError` for a mark that is wrong."""
    for mistake in item.stash.get(_MISTAKES, ()):
        raise pytest.UsageError(mistake)
    for mark in item.iter_markers(SURVIVES):
        _check(mark)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add the loss reports of a failed test to its report."""
    found = yield
    if found.when == "call" and found.failed:
        for title, losses in item.stash.get(_SHOWN, ()):
            found.sections.append((f"unified_llm: {title}", losses().table()))
    return found


# What a failure of a test shows, by title.
_SHOWN = pytest.StashKey[list[tuple[str, Callable[[], "Losses"]]]]()


def _check(mark: pytest.Mark) -> None:
    from .observe import Key, cell, survives
    from .probing import probes
    from .reporting import known

    wanted = dict(mark.kwargs)
    if not mark.args or "source" not in wanted or "target" not in wanted:
        raise pytest.UsageError(f"{SURVIVES}(*capabilities, source=..., target=...) needs all of these")
    if mistake := _misnamed(wanted):
        raise pytest.UsageError(f"{SURVIVES}: {mistake}")
    kind, fates = wanted.get("kind", "request"), wanted.get("fates")
    gone, seen = [], 0
    for glob in mark.args:
        try:
            known(glob)
        except ValueError as error:
            raise pytest.UsageError(str(error)) from None
        for capability in probes(kind):
            if fnmatchcase(capability, glob):
                found = cell(Key(kind, wanted["source"], wanted["target"], capability, wanted.get("model", "")))
                seen += found.fate != "-"
                fits = found.fate in fates if fates else survives(found.fate)
                if not fits and (found.fate != "-" or glob == capability):
                    told = "the source cannot express it" if found.fate == "-" else found.fate
                    gone.append(f"  {capability}: {told}" + (f" ({found.detail})" if found.detail else ""))
    if not seen and not gone:
        raise pytest.UsageError(f"{', '.join(mark.args)}: no probe of it in a {kind} of {wanted['source']}")
    if gone:
        what = f", required: {' or '.join(fates)}" if fates else ""
        pytest.fail(f"{wanted['source']} -> {wanted['target']}, {kind}: lost{what}\n" + "\n".join(gone), pytrace=False)


def _misnamed(wanted: dict[str, Any]) -> str:
    """What of a `unified_llm_survives` mark does not exist; "" if nothing. It could never fail, or never pass."""
    from ..foundation.errors import UnknownProtocol
    from .layout import names
    from .observe import CANONICAL, OBSERVED
    from .probing import KINDS

    fates = wanted.get("fates") or ()
    allowed = {"argument": ("source", "target", "kind", "model", "fates"), "kind": KINDS, "fate": tuple(OBSERVED)}
    given = {
        "argument": wanted,
        "kind": (wanted.get("kind", KINDS[0]),),
        "fate": (fates,) if type(fates) is str else fates,
    }
    for what, values in given.items():
        for value in values:
            if value not in allowed[what]:
                return f"unknown {what} {value!r}; choose one of: {', '.join(allowed[what])}"
    if type(fates) is str:
        return f"fates={fates!r} must be a list; pass fates=[{fates!r}]"
    for side in ("source", "target"):
        try:
            if names(wanted[side]) != [wanted[side]] or (side == "target" and wanted[side] == CANONICAL):
                return f"{side}={wanted[side]!r} must be one protocol"
        except UnknownProtocol as error:
            return str(error)
    return ""


# ---- fixtures -------------------------------------------------------------------------------------------------------


@pytest.fixture
def conversion_report(request: pytest.FixtureRequest) -> Callable[..., Report]:
    """Convert a payload of your own and check what became of it.

    Call it with a body, `source=`, `target=` and whatever `unified_llm.convert` takes; the answer has `survives(glob)`,
    `lost(glob)`, `changed(glob)`, `.losses` and `.value`.
    """
    from .reporting import report

    def made(*arguments: Any, **options: Any) -> Report:
        found = report(*arguments, **options)
        _show(request, found.way, lambda: found.losses)
        return found

    return made


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test with `unified_llm_upstream` once for each protocol of `unified_llm_protocols` (default: all)."""
    if "unified_llm_upstream" in metafunc.fixturenames:
        from ..engine.registry import protocols

        names = metafunc.config.getini("unified_llm_protocols") or protocols()
        metafunc.parametrize("unified_llm_upstream", names, indirect=True)


@pytest.fixture
def unified_llm_upstream(request: pytest.FixtureRequest) -> Iterator[FakeUpstream]:
    """An upstream in memory, once for each protocol: give `.http_client()` to the SDK your code uses.

    Queue answers with `.returns(text)` and `.calls(name, **arguments)`; `.losses`, `.survives(glob)` and `.requests`
    report what happened.
    """
    from .upstream import FakeUpstream

    upstream = FakeUpstream(request.param)
    _show(request, f"requests to {request.param} and responses", lambda: upstream.losses)
    yield upstream


def _show(request: pytest.FixtureRequest, title: str, losses: Callable[[], Losses]) -> None:
    request.node.stash.setdefault(_SHOWN, []).append((title, losses))
