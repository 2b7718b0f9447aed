"""The capacity model by hand, the simulation against what is known of queues, and the page that shows both."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("asyncpg")

from benchmarks.scaling import load, simulation, tables
from benchmarks.scaling.calibrate import without_requests
from benchmarks.scaling.costs import Costs, known
from benchmarks.scaling.model import Load, closed_queue, commits, plan, use

ROOT = Path(__file__).parents[1]
COSTS = Costs(
    pass_request_node=100, pass_event_node=5, translate_request_node=300, translate_event_node=10,
    stored_sqlite_node=500, stored_request_node=600, durable_sqlite_node=90, durable_event_node=80,
    commit_node=500, row_node=10, commit_db=400, row_db=20, end_node=700, end_db=900, notice_node=15, notice_db=25,
    wake_node=200, wake_db=100, sweep_node=2, sweep_db=1, commit_clock=2_000, silent_clock=500,
)  # fmt: skip


def test_a_load_without_state_is_requests_and_events() -> None:
    found = use(Load("translated", 6_000, 10, rate=10, seconds=60), COSTS)
    assert found.node == pytest.approx(10 * 300e-6 + 6_000 * 10e-6)  # of one node: 10 requests, 6,000 events a second
    assert (found.db, found.connections) == (0, 0)


def test_a_stored_response_is_a_row_and_a_commit() -> None:
    found = use(Load("stored", 6_000, 10, cells=2, seconds=60), COSTS)
    assert found.commits == pytest.approx(50)  # of one cell with 5 nodes
    assert found.db == pytest.approx(50 * 420e-6)
    assert found.lock == pytest.approx(50 * 500e-6)
    assert found.connections == 5 * 15


def test_a_durable_load_by_hand() -> None:
    """One node whose events come so seldom that each has its own commit."""
    given = Load("durable", 2, 1, rate=0.5, seconds=10, readers=1)
    made = commits(given, COSTS)
    ends, service = 2 / 10, 2_000e-6 / (1 - 2 / 10 * 2_000e-6)
    cores = (420e-6 + 25e-6) / 16
    busy = 510e-6 + 420e-6 * 15 / 16 + service + cores
    cycle = math.exp(-busy) + busy  # one event a second: the chance of none during a group, and a second until the next
    assert made.rows == pytest.approx(cycle, abs=1e-4) and made.cycle == pytest.approx(cycle, abs=1e-4)
    found = use(given, COSTS)
    groups = made.groups
    wakes = 2 * 0.5
    look = 2 * 2e-6
    assert found.commits == pytest.approx(groups + ends)
    assert found.lock == pytest.approx(ends * 2_000e-6)
    assert found.sweep == pytest.approx(look / (1 + look))
    node = 80e-6 + 0.2 * (300e-6 + 700e-6) + groups * 500e-6 + (groups * made.rows + 0.2) * 10e-6
    node += wakes * 200e-6 + (groups + ends) * 15e-6 + 1 * 5e-6 + found.sweep
    assert found.node == pytest.approx(node)
    db = groups * 400e-6 + ends * 900e-6 + (groups + ends) * 25e-6 + (groups * made.rows + 0.2) * 20e-6
    db += wakes * 100e-6 + 2 / (1 + look) * 1e-6
    assert found.db == pytest.approx(db)


def test_ends_of_runs_alone_can_be_too_many() -> None:
    given = Load("durable", 60_000, 100, seconds=60)  # 1,000 ends a second, 500 are possible
    found = use(given, COSTS)
    assert math.isinf(found.delay) and "commits" in found.over(given)


def test_a_plan_is_within_all_limits_and_no_larger_than_needed() -> None:
    made = plan(Load("durable", 20_000, 1), COSTS)
    assert made is not None and not use(made, COSTS).over(made)
    assert made.cells > 1
    assert use(made._replace(cells=1), COSTS).over(made)
    assert use(made._replace(nodes=made.nodes * 9 // 10), COSTS).over(made)
    assert plan(Load("durable", 20_000, 1), COSTS, most=10) is None


@pytest.mark.parametrize(("sources", "think", "service"), [(1, 3.0, 1.0), (2, 1.0, 1.0), (5, 10.0, 1.0)])
def test_the_closed_queue_is_the_sum_of_the_repairman(sources: int, think: float, service: float) -> None:
    terms = [math.perm(sources, k) * (service / think) ** k for k in range(sources + 1)]
    throughput = (1 - 1 / sum(terms)) / service
    found = closed_queue(sources, think, service)
    assert found == pytest.approx((throughput, sources / throughput - think))


def test_the_simulation_of_one_server_is_that_of_the_book() -> None:
    assert simulation.open_queue(0.5, 1.0, 1, 100_000) == pytest.approx(1 / (1 - 0.5), rel=0.05)
    assert simulation.open_queue(0.8, 1.0, 1, 200_000) == pytest.approx(1 / (1 - 0.8), rel=0.1)


def test_the_simulation_of_two_servers_is_erlangs() -> None:
    load, waiting = 1.5, 1.5**2 / 2 * 2 / (2 - 1.5)  # Erlang C with two servers
    chance = waiting / (1 + load + waiting)
    assert simulation.open_queue(1.5, 1.0, 2, 100_000) == pytest.approx(1 + chance / (2 - 1.5), rel=0.05)


@pytest.mark.parametrize("nodes", [1, 8, 40])
def test_the_simulation_of_a_cell_is_the_model(nodes: int) -> None:
    given = Load("durable", 50 * nodes, nodes)
    made, taken, seen = commits(given, COSTS), use(given, COSTS), simulation.simulated(given, COSTS)
    assert seen.groups == pytest.approx(made.groups, rel=0.15)
    assert seen.rows == pytest.approx(made.rows, rel=0.15)
    assert seen.delay == pytest.approx(taken.delay, rel=0.2)


def test_a_simulation_can_be_repeated() -> None:
    given = Load("durable", 400, 4)
    assert simulation.simulated(given, COSTS) == simulation.simulated(given, COSTS)
    assert simulation.simulated(given, COSTS) != simulation.simulated(given, COSTS, seed=2)


def test_the_prediction_for_a_load_by_hand() -> None:
    work = load.Work(workers=2, events=1_000, groups=200, rows=880, seconds=3.0, node_us=0, db_us=0)
    runs = load.RUNS
    node = (200 - runs) * 500 + 880 * 10 + 200 * 2 * 15 + runs * (300 + 700) + 3 * 2 * 200
    db = (200 - runs) * 400 + 880 * 20 + 200 * 3 * 25 + runs * 900 + 3 * 2 * 100
    assert work.predicted(COSTS) == pytest.approx((80 + node / 1_000, db / 1_000))


def test_an_event_is_counted_without_its_request() -> None:
    found = {"pass_event_node": 10.0, "pass_request_node": 200.0, "translate_event_node": 1.0,
             "translate_request_node": 100.0, "durable_event_node": 50.0, "stored_request_node": 400.0}  # fmt: skip
    less = without_requests(found, dict.fromkeys(found, 20))
    assert (less["pass_event_node"], less["translate_event_node"], less["durable_event_node"]) == (0, 0, 45)
    assert less["stored_request_node"] == 400


def test_the_page_and_its_image_are_current() -> None:
    for path, text in tables.renewed().items():
        assert path.read_text("utf-8") == text, "run: python benchmarks/scaling --write"


def test_the_command_prints_the_tables() -> None:
    done = subprocess.run([sys.executable, str(ROOT / "benchmarks" / "scaling")], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert tables.cells(known()) in done.stdout


@pytest.mark.bench
def test_a_load_of_one_worker_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    from benchmarks import gateways
    from gateway import databases

    if reason := databases.why_not():
        pytest.skip(reason)
    if sys.platform != "linux":
        pytest.skip("processor time is read from /proc")
    for name, value in (("WORKERS", (2,)), ("RUNS", 8), ("EVENTS", 5), ("ROUNDS", 1)):
        monkeypatch.setattr(load, name, value)
    try:
        (found,) = load.measured(lambda text: None)
    except gateways.Missing as reason:
        pytest.fail(str(reason))
    assert found.events == 40 and found.workers == 2
    assert 0 < found.groups and 8 <= found.rows <= 8 * 14
    assert found.node_us > 0 and found.db_us > 0
