"""The page in a browser, as a person uses it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from playwright.sync_api import Browser, expect

from mlirdev import schema
from mlirdev.explore.report import write_report
from tests.explore import records
from tests.explore.browser import chromium, opened

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_report(records.write_record(tmp_path_factory.mktemp("record")))


@pytest.fixture(scope="module")
def whole_report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of a run in which nothing failed."""
    folder = records.write_record(tmp_path_factory.mktemp("whole"))
    lines = [line for line in records.lines() if not isinstance(line, schema.Failure)]
    (folder / schema.RECORD_FILE).write_bytes(b"".join(map(schema.encode, lines)))
    return write_report(folder)


def test_it_opens_on_what_failed(browser: Browser, report: Path) -> None:
    with opened(browser, report) as page:
        expect(page.get_by_role("heading", level=1)).to_have_text("A pass failed")
        failure = page.get_by_role("article")
        expect(failure).to_contain_text("failed to legalize operation 'vector.gather'")
        expect(failure).to_contain_text("vector.gather %0[%c0]")
        expect(failure).to_contain_text("mlirdev opt 000-kernel-input.mlir")
        failure.get_by_role("link", name=re.compile("all .* lines")).click()
        expect(page).to_have_url(re.compile(r"#kernel/row-c/pass/0"))


def test_else_on_the_summary(browser: Browser, whole_report: Path) -> None:
    with opened(browser, whole_report) as page:
        expect(page.get_by_role("heading", level=1)).to_have_text("train.py --steps 2")
        for figure in ("utilisation", "bandwidth", "launch overhead", "compile time", "peak memory", "recompiles"):
            expect(page.get_by_text(figure, exact=True)).to_be_visible()
        expect(page.get_by_role("table", name="waits")).to_contain_text("loss.detach()")
        expect(page.get_by_role("table", name="ops on the CPU")).to_contain_text("aten.unique")
        expect(page.get_by_role("link", name="failures")).to_have_count(0)


def test_kernels_are_filtered_and_sorted_by_the_address(browser: Browser, report: Path) -> None:
    with opened(browser, report, "#kernels") as page:
        rows = page.get_by_role("table", name="kernels").locator("tbody tr")
        expect(rows).to_have_count(3)
        page.keyboard.press("/")
        page.keyboard.type("row")
        expect(rows).to_have_count(2)
        expect(page).to_have_url(re.compile(r"q=row"))
        page.get_by_role("button", name="from cache").click()
        expect(rows).to_have_count(1)
        expect(rows).to_contain_text("row-b")
        address = page.url
        page.goto("about:blank")
        page.goto(address)
        expect(rows).to_have_count(1)


def test_links_lead_on_and_back(browser: Browser, report: Path) -> None:
    with opened(browser, report, "#graphs") as page:
        page.get_by_role("link", name="g_2").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("g_2")
        page.get_by_role("link", name="contraction-a").click()
        expect(page.get_by_role("table", name="where it is used").locator("tbody tr")).to_have_count(2)
        page.go_back()
        expect(page.get_by_role("heading", level=1)).to_have_text("g_2")
        page.get_by_role("link", name="difference").click()
        expect(page.locator(".cm-mergeView")).to_contain_text("f32[s0,8]")
        expect(page.locator(".cm-mergeView")).to_contain_text("f32[16,8]")


def test_keys_do_what_the_mouse_does(browser: Browser, report: Path) -> None:
    with opened(browser, report, "#summary") as page:
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        page.keyboard.press("g")
        page.keyboard.press("k")
        expect(page.get_by_role("heading", level=1)).to_have_text("Kernels")
        page.keyboard.press("j")
        page.keyboard.press("j")
        expect(page.locator("tr:focus")).to_contain_text("row-c")
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", level=1)).to_have_text("row-c")
        page.keyboard.press("?")
        expect(page.get_by_role("dialog")).to_contain_text("next and previous row")
        page.keyboard.press("Escape")
        expect(page.get_by_role("dialog")).to_have_count(0)


def test_colours_follow_the_browser_until_one_is_chosen(browser: Browser, report: Path) -> None:
    ground = "getComputedStyle(document.body).backgroundColor"
    with opened(browser, report, "#summary", color_scheme="dark") as page:
        assert page.evaluate(ground) == "rgb(22, 24, 27)"
        page.get_by_role("button", name="auto").click()
        assert page.evaluate(ground) == "rgb(255, 255, 255)"
        page.reload()
        expect(page.get_by_role("button", name="light")).to_be_visible()
        assert page.evaluate(ground) == "rgb(255, 255, 255)"


def test_a_search_looks_through_all_passes(browser: Browser, report: Path) -> None:
    with opened(browser, report, "#search") as page:
        expect(page.get_by_role("searchbox")).to_be_focused()
        page.keyboard.type(r"vaddps|memref\.store")
        found = page.get_by_role("table", name="found lines").locator("tbody tr")
        expect(found).to_have_count(6)
        found.first.get_by_role("link").click()
        expect(page).to_have_url(re.compile(r"#kernel/.*/pass/\d+/L\d+"))
        page.goto(f"{report.as_uri()}#search?q=(")
        expect(page.get_by_role("status")).to_contain_text("Invalid regular expression")


def test_the_timeline_goes_to_a_run(browser: Browser, report: Path) -> None:
    with opened(browser, report, "#timeline") as page:
        spans = page.get_by_role("table", name="longest spans").locator("tbody tr")
        expect(spans.first).to_contain_text("g_1")
        everything = spans.count()
        page.goto(f"{report.as_uri()}#timeline?run=2")
        expect(page.get_by_text("All of it")).to_be_visible()
        assert spans.count() < everything
        box = page.locator("canvas").bounding_box()
        assert box is not None
        page.mouse.move(box["x"] + 300, box["y"] + 40)
        page.mouse.down()
        page.mouse.move(box["x"] + 500, box["y"] + 40)
        page.mouse.up()
        expect(page).to_have_url(re.compile(r"from=[\d.]+&to=[\d.]+"))


def test_a_long_table_has_the_rows_in_sight(browser: Browser, tmp_path: Path) -> None:
    lines = [_grown(line) if isinstance(line, schema.Graph) else line for line in records.lines()]
    folder = records.write_record(tmp_path)
    (folder / schema.RECORD_FILE).write_bytes(b"".join(map(schema.encode, lines)))
    with opened(browser, write_report(folder), "#graph/g_1/nodes") as page:
        rows = page.locator("tr[data-row]")
        expect(page.get_by_text("3000 nodes")).to_be_visible()
        assert rows.count() < 200
        page.evaluate("window.scrollTo(0, document.body.scrollHeight)")
        expect(page.locator("tr[data-row='2999']")).to_contain_text("n2999")
        assert rows.count() < 200
        page.emulate_media(media="print")
        page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
        expect(rows).to_have_count(3000)


def _grown(graph: schema.Graph) -> schema.Graph:
    """With a node of its own for each of 3000 lines of its text, which no kernel computes."""
    more = [schema.GraphNode("aten.neg.default", f"%{i} = aten.neg.default(%1)", [1], ["f32[]"]) for i in range(2996)]
    return msgspec.structs.replace(graph, nodes=[*graph.nodes, *more])


def test_what_does_not_exist_says_so(browser: Browser, report: Path) -> None:
    with opened(browser, report, "#kernel/nothing") as page:
        expect(page.get_by_text('No kernel "nothing"')).to_be_visible()
        page.goto(f"{report.as_uri()}#graph/nothing")
        expect(page.get_by_text("Not in this page")).to_be_visible()
        page.goto(f"{report.as_uri()}#elsewhere")
        expect(page.get_by_text('There is no page "elsewhere"')).to_be_visible()


@pytest.mark.parametrize("width", [1400, 420])
@pytest.mark.parametrize(
    "hash", ["failures", "summary", "graphs", "graph/g_2", "graph/g_2/memory", "kernels", "timeline"]
)
def test_nothing_is_wider_than_the_window(browser: Browser, report: Path, hash: str, width: int) -> None:
    with opened(browser, report, f"#{hash}", viewport={"width": width, "height": 800}) as page:
        expect(page.locator("main > *").first).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= width
