"""`--update` writes what was found into the table instead of comparing with it (scripts/conformance does)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from . import table

CRASHED = "crash"
_found: dict[tuple[str, str], table.Row] = {}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update", action="store_true", help="write the outcomes into the conformance table")
    parser.addoption("--dtypes", default=",".join(table.DTYPES), help="dtypes of the conformance table to look at")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Collect outcomes; a process that died reports its test as failed, without one."""
    if report.when == "teardown" or "test_operator[" not in report.nodeid:
        return
    op, dtype = report.nodeid.partition("[")[2].rstrip("]").rsplit("-", 1)
    found = dict(report.user_properties).get("found")
    if found is not None:
        _found[op, dtype] = found
    elif report.failed:
        _found[op, dtype] = {dtype: CRASHED}


def pytest_sessionfinish(session: pytest.Session) -> None:
    """In the process that sees all reports, not in the workers of pytest-xdist."""
    if hasattr(session.config, "workerinput") or not session.config.getoption("--update") or not _found:
        return
    rows = table.read()
    for (op, _), outcome in _found.items():
        rows.setdefault(op, {}).update(outcome)
    table.write(rows)


def _summary(rows: dict[str, table.Row]) -> Iterator[str]:
    words = ("native", "host", "differs", "raises", CRASHED)
    yield f"{'':20}" + "".join(f"{w:>9}" for w in words) + f"{'native %':>10}"
    for column in table.COLUMNS:
        found = [row[column] for row in rows.values() if row.get(column)]
        counts = [found.count(w) for w in words]
        share = 100 * counts[0] / max(1, len(found))
        yield f"{column:20}" + "".join(f"{c:9}" for c in counts) + f"{share:10.1f}"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if config.getoption("--update"):
        terminalreporter.section("conformance")
        for line in _summary(table.read()):
            terminalreporter.write_line(line)
