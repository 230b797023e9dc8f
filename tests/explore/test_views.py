"""The page's two views of IR, in a browser: passes, and source with what became of each line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from mlirdev.explore.report import write_report
from tests.explore.browser import chromium, opened
from tests.explore.compiled import record_of, save

pytestmark = pytest.mark.slow

# A loaded machine takes its time.
WAIT_MS = 20_000
expect.set_options(timeout=WAIT_MS)

# Line 10 + k of the program is node k.
GRAPH = """\
%0: 40x50xf32 = input
%1: 50x60xf32 = input
%2: 40x60xf32 = aten.mm.default(%0, %1)  // n0
%3: 40x60xf32 = aten.relu.default(%2)  // n1
%4: 40x60xf32 = aten.alias.default(%3)  // n2
return %4
"""
PROGRAM = "\n" * 9 + "h = x @ w\ny = h.relu()\nz = y.alias()\n"


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    record = record_of(tmp_path_factory.mktemp("record"), GRAPH, GRAPH)
    record.sources["model.py"] = PROGRAM
    return write_report(save(record))


@pytest.fixture(scope="module")
def browser(report: Path) -> Iterator[Page]:
    with chromium() as browser, opened(browser, report, viewport={"width": 1500, "height": 900}) as page:
        page.set_default_timeout(WAIT_MS)
        yield page


@pytest.fixture
def page(browser: Page) -> Page:
    """The page, as if just opened."""
    browser.goto("about:blank")
    return browser


def show(page: Page, report: Path, where: str) -> None:
    page.goto(f"{report.resolve().as_uri()}#{where}")
    page.locator(".cm-line").first.wait_for()
    # What listens to keys is there after the first frame.
    page.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done, 50)))")


def rows(page: Page) -> list[str]:
    """The passes in the list."""
    return page.locator(".pass .what").all_inner_texts()


def ending(address: str) -> re.Pattern[str]:
    return re.compile(re.escape(address) + "$")


def pane(page: Page, name: str) -> Locator:
    return page.get_by_role("region", name=name)


def marked(where: Locator) -> list[str]:
    """The lines that are marked, as far as they are in sight."""
    return [line.strip() for line in where.locator(".cm-line.linked, .cm-line.current").all_inner_texts()]


def test_the_unchanged_are_hidden_until_asked_for(page: Page, report: Path):
    show(page, report, "kernel/contraction-0/pass/0")
    changed = rows(page)
    assert "schedule-contractions" in changed
    assert "bufferize-attention" not in changed
    page.get_by_label("only changed").uncheck()
    expect(page.locator(".pass .what").filter(has_text="bufferize-attention")).to_be_visible()
    assert set(changed) < set(rows(page))
    page.get_by_label("filter passes").fill("attention")
    expect(page.locator(".pass")).to_have_count(3)  # two, and the one that is shown
    page.get_by_label("only changed").check()


def test_keys_go_from_pass_to_pass(page: Page, report: Path):
    show(page, report, "kernel/contraction-0/pass/0")
    names = rows(page)
    page.keyboard.press("j")
    page.keyboard.press("j")
    expect(page.locator(".pass[aria-current]")).to_contain_text(names[2])
    page.keyboard.press("k")
    expect(page.locator(".pass[aria-current]")).to_contain_text(names[1])
    number = page.locator(".pass[aria-current] .number").inner_text()
    expect(page).to_have_url(ending(f"#kernel/contraction-0/pass/{number}"))


def test_a_pass_is_compared_with_the_one_before(page: Page, report: Path):
    show(page, report, "kernel/contraction-0/pass/0")
    page.locator(".pass", has_text="destination-passing").click()
    after = page.locator(".cm-merge-b")
    expect(after.locator(".cm-changedText").first).to_be_visible()
    assert "memref<40x60xf32>" in after.inner_text()
    assert "memref<40x60xf32>" not in page.locator(".cm-merge-a").inner_text()


def test_any_two_stages_are_compared(page: Page, report: Path):
    show(page, report, "kernel/contraction-0/pass/20")
    page.get_by_label("compare").select_option(value="0")
    expect(page.locator(".pass.before .number")).to_have_text("0")
    expect(page).to_have_url(ending("/pass/20?with=0"))


def test_values_that_are_only_numbered_anew_are_no_difference(page: Page, report: Path):
    show(page, report, "kernel/contraction-0/pass/0")
    page.locator(".pass", has_text="convert-func-to-llvm").click()
    after = page.locator(".cm-merge-b")
    # Arguments are added, and all numbers move up: the bodies of both functions are equal all the same.
    expect(after.locator(".cm-collapsedLines")).to_have_count(2)
    expect(after).to_contain_text("%0′ = llvm.mlir.poison")
    page.get_by_label("value names").check()
    expect(after.locator(".cm-collapsedLines")).not_to_have_count(2)
    expect(after).to_contain_text("%0 = llvm.mlir.poison")


def test_llvm_and_assembly_are_beside_each_other(page: Page, report: Path):
    show(page, report, "kernel/contraction-0/pass/0")
    page.locator(".pass", has_text="codegen").click()
    llvm, asm = page.locator(".beside .pane").first, page.locator(".beside .pane").last
    expect(llvm).to_contain_text("define internal")
    expect(asm).to_contain_text("kernel:")
    llvm.locator(".cm-line", has_text="alloca").first.click()
    expect(asm.locator(".linked").first).to_be_visible()
    expect(page.locator(".origin")).not_to_be_visible()  # only the later text's line has an address


def test_attributes_and_locations_are_hidden_and_shown(page: Page, report: Path):
    show(page, report, "kernel/contraction-0/pass/0")
    page.locator(".pass", has_text="linalg-generalize-named-ops").click()
    after = page.locator(".cm-merge-b")
    generic = after.locator(".cm-line", has_text="linalg.generic")
    expect(generic.first).to_contain_text("indexing_maps")
    page.get_by_label("attributes").uncheck()
    expect(generic.first).to_contain_text("linalg.generic ins(")
    page.get_by_label("locations").check()
    expect(after.locator(".cm-marks .cm-gutterElement", has_text="n0").first).to_be_visible()
    page.get_by_label("locations").uncheck()
    expect(after.locator(".cm-marks")).to_have_count(0)


def test_all_passes_are_searched(page: Page, report: Path):
    show(page, report, "kernel/contraction-0/pass/0")
    page.keyboard.press("s")
    page.get_by_label("regular expression").fill(r"llvm\.func @kernel\(")
    hit = page.locator(".hits li").first
    expect(hit).to_contain_text("convert-func-to-llvm")
    hit.click()
    expect(page.locator(".cm-line.current")).to_contain_text("llvm.func @kernel(")
    page.get_by_label("regular expression").fill("(")
    expect(page.locator(".find .bad")).to_contain_text("Invalid regular expression")


def test_a_link_leads_to_a_line(page: Page, report: Path):
    show(page, report, "kernel/contraction-0/pass/0/L4")
    assert page.locator(".cm-line.current").inner_text() == page.locator(".cm-line").nth(3).inner_text()
    expect(page.locator(".origin")).to_contain_text("line 4")


def test_a_python_line_is_followed_to_the_assembly_and_back(page: Page, report: Path):
    show(page, report, "source/model.py?line=10")
    nodes, linalg, llvm, asm = (pane(page, name) for name in ("Nodes", "Linalg", "LLVM IR", "Assembly"))
    expect(nodes.locator(".linked")).to_have_count(1)
    assert marked(nodes)[0].endswith("aten.mm.default(%0, %1)  // n0")
    page.locator(".python .cm-line", has_text="relu").click()
    expect(nodes.locator(".linked")).to_contain_text("aten.relu.default")
    expect(linalg.locator(".linked", has_text="arith.maximumf")).to_be_visible()
    expect(llvm.locator(".linked", has_text="@llvm.maximum").first).to_be_visible()
    expect(asm.locator(".linked").first).to_be_visible()
    expect(page).to_have_url(ending("#source/model.py?line=11"))
    linalg.locator(".cm-line", has_text="linalg.matmul").click()
    expect(page.locator(".python .linked")).to_have_text("h = x @ w")
    expect(nodes.locator(".linked")).to_contain_text("aten.mm.default")
    asm.locator(".linked").first.click()
    expect(page.locator(".python .linked")).to_have_text("h = x @ w")


def test_a_kernel_in_two_places_is_narrowed_by_a_launch(page: Page, report: Path):
    show(page, report, "source/model.py?line=11")
    launches = page.get_by_label("launch")
    expect(launches.locator("option")).to_have_text(
        ["in all 2 places", "launch 0 of g_0 · 1× · 10.0 µs", "launch 0 of g_1 · 1× · 10.0 µs"]
    )
    launches.select_option(index=2)
    expect(pane(page, "Nodes").get_by_role("link")).to_have_text("g_1")
    expect(page.locator(".python .linked")).to_have_text("y = h.relu()")


def test_a_line_that_was_folded_away_says_by_which_pass(page: Page, report: Path):
    show(page, report, "source/model.py?line=12")
    fate = page.locator(".source > .bar .fates")
    expect(fate).to_contain_text("n2 aten.alias.default: folded away by import (torch)")


def test_lines_are_added_with_a_modifier(page: Page, report: Path):
    show(page, report, "source/model.py?line=10")
    page.locator(".python .cm-line", has_text="relu").click(modifiers=["Control"])
    expect(pane(page, "Nodes").locator(".linked")).to_have_count(2)
    expect(page).to_have_url(ending("?line=10%2C11"))


def test_keys_go_from_line_to_line(page: Page, report: Path):
    show(page, report, "source/model.py?line=10")
    page.keyboard.press("j")
    expect(page.locator(".python .current")).to_have_text("y = h.relu()")
    page.keyboard.press("j")
    page.keyboard.press("j")
    expect(page.locator(".python .current")).to_have_text("z = y.alias()")
    page.keyboard.press("k")
    expect(page.locator(".python .current")).to_have_text("y = h.relu()")


def test_the_time_of_a_line_stands_beside_it(page: Page, report: Path):
    show(page, report, "source/model.py?line=10")
    assert page.locator(".cm-heat .heat-5").all_inner_texts() == ["10.0 µs", "10.0 µs"]
