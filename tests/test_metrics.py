"""Counters, gauges, the report, explain() and the guards: all fed by events, without any layer."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator

import pytest

from mlirdev import events, guards, logs, metrics
from mlirdev.errors import ForbiddenError
from mlirdev.events import Fallback, Flush, GraphCompiled, SourceLine, SpecMiss, Sync, WorkerLost, emit
from mlirdev.explain import clear, explain
from mlirdev.options import options

LINE = SourceLine("train.py", 12)


@pytest.fixture(autouse=True)
def _clean() -> Iterator[None]:
    metrics.reset()
    clear()
    guards._warned.clear()
    yield
    metrics.reset()
    clear()


def test_the_names_that_others_rely_on_are_there() -> None:
    names = (
        "ops_recorded spec_misses graphs_run graph_cache_hits compiles kernels_compiled kernel_cache_hits launches "
        "fallbacks syncs live_nodes record_s compile_s launch_overhead_s execute_s peak_bytes"
    )
    assert set(names.split()) <= set(metrics.snapshot())
    json.dumps(metrics.snapshot())


def test_events_are_counted() -> None:
    emit(GraphCompiled(kernels=4, kernels_compiled=3, seconds=2.0))
    emit(Flush(cause="value", nodes=5, record_s=0.5, launch_s=9.0))
    emit(Flush(cause="value", nodes=5, record_s=0.5, launch_s=0.25))
    emit(GraphCompiled(kernels=4, from_disk=True))
    emit(SpecMiss(op="aten.add.Tensor"))
    emit(Fallback(op="aten.nonzero.default"))
    emit(Sync(cause="item"))
    emit(Sync(cause="item"))
    now = metrics.snapshot()
    assert (now["ops_recorded"], now["graphs_run"], now["graph_cache_hits"]) == (10, 2, 1)
    assert (now["compiles"], now["graph_disk_hits"], now["kernels_compiled"], now["kernel_cache_hits"]) == (1, 1, 3, 5)
    assert (now["record_s"], now["launch_overhead_s"], now["compile_s"]) == (1.0, 0.25, 2.0)
    assert (now["spec_misses"], now["fallbacks"], now["syncs"]) == (1, {"aten.nonzero.default": 1}, {"item": 2})


def test_counting_from_many_threads_loses_nothing() -> None:
    def work() -> None:
        for _ in range(1000):
            metrics.counters.add(launches=2, execute_s=0.5)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert metrics.snapshot()["launches"] == 8000
    assert metrics.snapshot()["execute_s"] == 2000.0


def test_gauges_are_read_when_asked_and_peaks_reset(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "_gauges", {})
    peak = [7]
    metrics.gauge("peak_bytes", lambda: peak[0], lambda: peak.__setitem__(0, 1))
    assert metrics.snapshot()["peak_bytes"] == 7
    metrics.reset()
    assert metrics.snapshot()["peak_bytes"] == 1
    with pytest.raises(KeyError, match="peak_bytes"):
        metrics.gauge("peak_byte", lambda: 0)


def test_the_report_is_a_table_in_a_terminal_and_in_a_notebook() -> None:
    emit(Fallback(op="aten.a<b>.default", cause="no_lowering"))
    text, page = str(metrics.report()), metrics.report()._repr_html_()
    assert "ops_recorded" in text
    assert "aten.a<b>.default" in text
    assert "<td>aten.a&lt;b&gt;.default</td>" in page


def test_explain_says_what_differed_where_and_the_remedy() -> None:
    emit(GraphCompiled(where=LINE, graph="g1", reason="size 3 was 32 and is now 48", nodes=9, kernels=2))
    for _ in range(3):
        emit(Sync(where=LINE, cause="item", seconds=0.1))
    emit(Sync(cause="synchronize"))
    emit(Fallback(where=LINE, op="aten.nonzero.default", cause="data_dependent", reason="its size depends on values"))
    emit(WorkerLost(where=LINE, graph="g1", reproducer="/tmp/r"))
    text = str(explain())
    assert "size 3 was 32 and is now 48" in text
    assert "train.py:12: item: 3 times, 0.300 s" in text
    assert "remedy: keep the value on the device" in text
    assert "its size depends on values" in text
    assert "mlirdev repro /tmp/r" in text
    assert "synchronize:" not in text


def test_explain_with_nothing_to_say() -> None:
    assert "no wait and no fallback" in str(explain())


def test_explain_keeps_a_bounded_number_of_compiles() -> None:
    for i in range(1200):
        emit(GraphCompiled(graph=f"g{i}"))
    assert "Compiled graphs: 1200 (the last 1000 are shown)" in str(explain())


def test_no_sync_forbids_implicit_waits_only() -> None:
    with guards.no_sync():
        with pytest.raises(ForbiddenError, match=r"item.*train\.py:12.*no_sync"):
            guards.check_sync("item", LINE)
        guards.check_sync("synchronize", LINE)
    guards.check_sync("item", LINE)


def test_no_fallback_reaches_other_threads_and_nests() -> None:
    raised: list[Exception] = []

    def work() -> None:
        try:
            guards.check_fallback("aten.nonzero.default", "its size depends on values", LINE)
        except ForbiddenError as error:
            raised.append(error)

    with guards.no_fallback():
        with guards.no_fallback():
            pass
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert len(raised) == 1
    assert "register_lowering" in str(raised[0])


def test_fallbacks_warn_once_per_op() -> None:
    with options.override(fallback="warn"):
        with pytest.warns(UserWarning, match=r"aten\.a\.default runs on the CPU at train\.py:12"):
            guards.check_fallback("aten.a.default", "no rule", LINE)
        guards.check_fallback("aten.a.default", "no rule", SourceLine("other.py", 1))


def test_options_forbid() -> None:
    with options.override(fallback="error", sync="error"):
        with pytest.raises(ForbiddenError, match="fallback=error"):
            guards.check_fallback("aten.a.default", "no rule")
        with pytest.raises(ForbiddenError, match="sync=error"):
            guards.check_sync("bool")


def test_logs_are_one_line_each_of_the_kinds_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    with options.override(logs="sync,recompiles"):
        emit(Sync(where=LINE, cause="item", seconds=0.001))
        emit(Flush(cause="value"))
        emit(GraphCompiled(where=LINE, graph="g1", kernels=2, kernels_compiled=1, reason="first"))
        assert not logs.logs_passes()
    assert capsys.readouterr().err.splitlines() == [
        "mlirdev sync: item 1.00 ms at train.py:12",
        "mlirdev recompiles: g1 1/2 kernels compiled in 0.00 s at train.py:12; first",
    ]


def test_logs_are_json_for_machines(capsys: pytest.CaptureFixture[str]) -> None:
    with options.override(logs="sync,flush", logs_format="json"):
        emit(Sync(where=LINE, cause="item", seconds=0.001))
        emit(Flush(cause="value", lines=list))
    logs.pass_log("g1", as_json=True)("kernel", "cse", str, 0.25)
    sync, flush, step = map(json.loads, capsys.readouterr().err.splitlines())
    assert sync == {"kind": "sync", "where": "train.py:12", "cause": "item", "seconds": 0.001}
    assert (flush["kind"], flush["cause"], flush["where"]) == ("flush", "value", None)
    assert step == {"kind": "passes", "graph": "g1", "stage": "kernel", "pass": "cse", "seconds": 0.25}


def test_who_unsubscribes_hears_no_more() -> None:
    heard: list[events.Event] = []
    unsubscribe = events.subscribe(heard.append)
    emit(Sync(cause="a"))
    unsubscribe()
    emit(Sync(cause="b"))
    assert [event.cause for event in heard if isinstance(event, Sync)] == ["a"]


def test_passes_are_logged_where_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    with options.override(logs="sync,passes"):
        assert logs.logs_passes()
    logs.pass_log("g1")("kernel", "cse", str, 0.001)
    assert capsys.readouterr().err == "mlirdev passes: g1 kernel/cse 1.00 ms\n"
