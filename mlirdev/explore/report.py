"""OUT/report.html: the record as one page that needs no server and no network.

    load_record ─► page.py, one value a blob ─► JSON ─► gzip ─► base64 ─► report.html.j2, with the bundle of frontend/

The page decodes a blob when it is looked at first, so a large record opens as fast as a small one.
"""

from __future__ import annotations

import base64
import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup

from mlirdev.explore.links import Links
from mlirdev.explore.page import graph_page, kernel_page, kernel_uses, page
from mlirdev.explore.page_links import page_links
from mlirdev.explore.page_passes import passes_page
from mlirdev.explore.record import Record, load_record
from mlirdev.explore.timeline import timeline

REPORT_FILE = "report.html"
ASSETS = Path(__file__).parent / "assets"
# Distinct lines of an owner's passes that go into the page, in bytes; files of the record are whole.
MOST_TEXT = 4_000_000
# All passes in the page, as they are in it. Browsers open more, but nobody wants to send it.
MOST_PASSES = 64_000_000
_encoder = msgspec.json.Encoder()


def write_report(folder: Path) -> Path:
    """Write `folder`/report.html from the record in `folder`; the file. Raises OptionError where there is no record."""
    record = load_record(folder)
    environment = Environment(
        loader=PackageLoader("mlirdev.explore", "assets"),
        autoescape=select_autoescape(("html", "j2")),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    template = environment.get_template("report.html.j2")
    # Under another name until it is whole, so that a full disk or Ctrl-C leaves no half page.
    file, part = folder / REPORT_FILE, folder / f"{REPORT_FILE}.part"
    with part.open("w", encoding="utf-8") as out:
        stream = template.stream(
            title=" ".join(record.header.argv),
            style=Markup((ASSETS / "explorer.css").read_text()),
            script=Markup((ASSETS / "explorer.js").read_text()),
            blobs=blobs_of(record),
        )
        stream.enable_buffering(32)
        out.writelines(stream)
    return part.replace(file)


def blobs_of(record: Record) -> Iterator[tuple[str, str]]:
    """The page's blobs by name, packed: see page.Blobs. Passes come first, since the page says which there are."""
    links = Links(record)
    there: list[str] = []
    nbytes = 0
    for owner in _by_importance(record):
        if nbytes < MOST_PASSES:
            text = packed(passes_page(links, owner, MOST_TEXT))
            nbytes += len(text)
            there.append(owner)
            yield f"passes/{owner}", text
    opening = page(record, there, _notes(record, there))
    yield "page", packed(opening)
    for name in record.graphs:
        yield f"graph/{name}", packed(graph_page(links, name))
    uses = kernel_uses(record)
    for name in record.kernels:
        yield f"kernel/{name}", packed(kernel_page(record, name, uses[name]))
    yield "links", packed(page_links(links))
    yield "sources", packed(record.sources)
    yield "timeline", packed(timeline(record, opening.summary.program.wall_s))


def _by_importance(record: Record) -> list[str]:
    """Owners of passes: what failed, graphs, kernels from the longest on."""
    failed = {failure.owner for failure in record.failures}
    launched = record.launches_of
    seconds = {f"kernels/{name}": sum(launch.seconds for launch in launched[name]) for name in launched}
    return sorted(record.passes, key=lambda o: (o not in failed, o.startswith("kernels/"), -seconds.get(o, 0.0), o))


def _notes(record: Record, there: list[str]) -> list[str]:
    """What isn't in the page, in words."""
    missing = len(record.passes) - len(there)
    if not missing:
        return []
    said = f"The passes of {missing:,} kernels that took little time are left out, to keep this page small"
    return [f"{said}; mlirdev show {record.folder.name} passes NAME has them."]


def packed(value: Any) -> str:
    """A value as JSON, gzipped, in base64."""
    return base64.b64encode(gzip.compress(_encoder.encode(value), compresslevel=6, mtime=0)).decode()
