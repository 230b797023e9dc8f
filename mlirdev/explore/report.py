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
_encoder = msgspec.json.Encoder()


def write_report(folder: Path) -> Path:
    """Write `folder`/report.html from the record in `folder`; the file. Raises OptionError where there is no record."""
    record = load_record(folder)
    blobs = ((name, packed(value)) for name, value in blobs_of(record))
    environment = Environment(
        loader=PackageLoader("mlirdev.explore", "assets"),
        autoescape=select_autoescape(("html", "j2")),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    template = environment.get_template("report.html.j2")
    file = folder / REPORT_FILE
    with file.open("w", encoding="utf-8") as out:
        stream = template.stream(
            title=" ".join(record.header.argv),
            style=Markup((ASSETS / "explorer.css").read_text()),
            script=Markup((ASSETS / "explorer.js").read_text()),
            blobs=blobs,
        )
        stream.enable_buffering(32)
        out.writelines(stream)
    return file


def blobs_of(record: Record) -> Iterator[tuple[str, Any]]:
    """The page's blobs by name: see page.Blobs."""
    opening = page(record, notes=[])
    yield "page", opening
    for name in record.graphs:
        yield f"graph/{name}", graph_page(record, name)
    uses = kernel_uses(record)
    for name in record.kernels:
        yield f"kernel/{name}", kernel_page(record, name, uses[name])
    links = Links(record)
    for owner in record.passes:
        yield f"passes/{owner}", passes_page(links, owner, MOST_TEXT)
    yield "links", page_links(links)
    yield "sources", record.sources
    yield "timeline", timeline(record, opening.summary.program.wall_s)


def packed(value: Any) -> str:
    """A value as JSON, gzipped, in base64."""
    return base64.b64encode(gzip.compress(_encoder.encode(value), compresslevel=6, mtime=0)).decode()
