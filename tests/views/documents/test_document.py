"""Specification of a finished run as HTML."""

import base64
import gzip
import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from asserting import every
from reviewed import reviewed

from blsnb.request_fields import RequestFields
from blsnb.trace.comparison import compare
from blsnb.trace.responses import ResponseEvent
from blsnb.views.documents import document, host, wire
from blsnb.views.live import running_page
from blsnb.views.summary import heading
from blsnb.views.tree import tree
from views.encoded import decode, html_with

from .. import golden_run, samples
from ..samples import batch_run, hostile_run, invoice_run

CODE = "export function mount() {}"


class Elements(HTMLParser):
    """The elements of a page, as a browser without scripts would meet them."""

    def __init__(self, page):
        super().__init__()
        self.found = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.text += data

    def tags(self):
        return [tag for tag, _ in self.found]


def packed(page):
    strings = re.findall(r'(?:own = |unpack\()"([^"]*)"', page)
    return [each and gzip.decompress(unpacked(each)) for each in strings]


def unpacked(text):
    """Ascii85 with other letters for four that mean something in scripts."""
    return base64.a85decode(text.translate(str.maketrans("vwxy", '\\"&<')))


@pytest.fixture(scope="module")
def page():
    return html_with(CODE, invoice_run())


def test_the_page_without_scripts_is_the_golden_one():
    """Readers without scripts see picture, notes, tables and texts."""
    assert golden_run.PAGE.read_text("utf-8") == golden_run.page()


def requests_run():
    """Return a run of a hundred and one requests, with many responses of the first."""
    trace = invoice_run()
    sent = [
        ResponseEvent(number, (), "", number, (("token", number),))
        for number in range(9)
    ]
    spans = [
        replace(
            trace.spans[0],
            index=row,
            id=row,
            request_fields=RequestFields(request_id="a<b", priority=row + 1),
            responses=tuple(sent) if row == 0 else (),
            execution=1 + row // 2,
            batch=2,
        )
        for row in range(101)
    ]
    return replace(trace, spans=tuple(spans), remarks=("a <remark>",))


@pytest.mark.parametrize(
    ("name", "run"),
    [
        ("compared", lambda: compare(samples.edited_run(), invoice_run())),
        ("requests", requests_run),
        ("ensemble", samples.ensemble_run),
    ],
)
def test_the_tables_of_each_kind_of_run_are_the_reviewed_ones(name, run):
    """``BLSNB_WRITE_GOLDEN=1`` writes the files anew; their picture has its own."""
    html = re.sub('base64,[^"]*', "base64,", document.still(run()))
    file = golden_run.FOLDER / "kinds" / f"{name}.html"
    text = html.replace("<tr>", "\n<tr>") + "\n"

    assert reviewed(file, text) == text


def test_a_document_is_a_host_with_picture_and_table_then_its_scripts(page):
    """Readers without scripts see the picture and the table."""
    elements = Elements(page)

    assert ["div", "img", "details"] == elements.tags()[:3]
    assert [("script", {}), ("script", {"type": "module"})] == elements.found[-2:]
    assert 2 == elements.tags().count("script")
    host = elements.found[0][1]
    assert ("blsnb-run", wire.page_id(invoice_run())) == (
        host["class"],
        host["data-run"],
    )
    assert ("400", False) == (host["data-height"], "style" in host)


def test_the_script_contains_code_header_and_buffer(page):
    """Three gzip strings, and together they are the whole run."""
    code, header, buffer = packed(page)
    columns = decode(json.loads(header), buffer)

    assert CODE == code.decode()
    assert 27 == len(columns["parent"])
    assert 27 == len(json.loads(header)["tensors"])


def test_the_picture_has_a_description_in_words(page):
    """A screen reader and a missing image describe the run."""
    image = next(attrs for tag, attrs in Elements(page).found if tag == "img")

    assert (
        "invoice_pipeline · request 7f3a, 76.2 ms wall, 27 calls, 9 models, 3 errors"
        == image["alt"]
    )
    kind, data = image["src"].split(",")
    assert "data:image/svg+xml;base64" == kind
    assert base64.b64decode(data).startswith(b"<svg")


def test_the_table_has_a_row_for_each_model(page):
    """It has calls, own time and errors."""
    elements = Elements(page)

    assert 10 == elements.tags().count("tr")
    assert "crop_recognizer1274.3 ms1" in elements.text


def test_documents_of_the_same_run_are_identical(page):
    """Version control sees no change."""
    assert page == html_with(CODE, invoice_run())


def test_no_text_of_a_trace_becomes_an_element_or_ends_the_script():
    """Markup in names, ids, errors and values stays text."""
    elements = Elements(html_with(CODE, hostile_run()))

    assert set(elements.tags()) == {
        *("div", "img", "details", "summary", "table", "thead", "tbody"),
        *("tr", "th", "td", "script", "p", "small"),
    }
    assert 2 == elements.tags().count("script")
    assert every(
        not key.startswith("on") for _, attrs in elements.found for key in attrs
    )


def test_a_document_needs_no_network(page):
    """Its only address is the data of the picture."""
    script = page[page.index("<script") :]

    assert "http" not in re.sub(r'"[^"]{200,}"', "", script)


def test_without_previews_a_document_has_no_values():
    """Neither strings nor slices are saved."""
    page = html_with(CODE, invoice_run(), embed_previews=False)
    header = json.loads(packed(page)[1])
    entries = [e for each in header["tensors"].values() for e in each]

    assert {None} == {entry["preview"] for entry in entries}
    assert any(entry["stats"] for entry in entries)
    assert b"Extract vendor" not in packed(page)[1]


def test_a_document_has_the_height_of_the_view_before_it():
    """The page does not move when the document replaces the widget."""
    page = html_with(CODE, invoice_run(), height=612)
    first = html_with(CODE, invoice_run())
    running = running_page.mimebundle(invoice_run())["text/html"]

    pages = [Elements(each).found[0][1] for each in (page, first, running)]
    assert ["612", "400", "480"] == [each["data-height"] for each in pages]
    assert {"height": 612} == json.loads(packed(page)[1])["ui"]


def test_a_finished_run_is_html_and_text_and_no_widget():
    """A saved notebook needs no widget model."""
    bundle = document.mimebundle(invoice_run(), state="cancelled", notes=["a note"])
    header = json.loads(packed(bundle["text/html"])[1])

    texts = ["text/markdown", "text/latex", "text/plain"]
    assert ["text/html", *texts] == list(bundle)
    assert "cancelled" == header["run"]["state"]
    assert "a note" == header["notes"]["0"][0]
    assert bundle["text/plain"].startswith("invoice_pipeline · request 7f3a: 76.2 ms")


def test_a_saved_page_is_a_whole_page_with_a_title():
    """A browser opens the file in the right encoding, light or dark."""
    saved = document.page(hostile_run())
    elements = Elements(saved)

    assert saved.startswith("<!doctype html>")
    assert ("meta", {"charset": "utf-8"}) in elements.found
    scheme = {"name": "color-scheme", "content": "light dark"}
    assert ("meta", scheme) in elements.found
    assert ["html", "head", "meta", "meta", "title", "body"] == elements.tags()[:6]
    assert 2 == elements.tags().count("script")


def test_a_document_without_code_has_only_its_own_data():
    """Another document of the page carries the code, under the same key."""
    whole = document.html(invoice_run())
    alone = document.html(invoice_run(), carries_code=False)
    keys = [re.findall(r'const key = "(\w+)"', page) for page in (whole, alone)]

    assert keys[0] == keys[1]
    assert 'const own = "";' in alone
    assert packed(whole)[1:] == packed(alone)[1:]


def test_a_small_run_is_a_small_document():
    """75 KB with the code, and a few without."""
    small = samples.instant_run()

    assert len(document.html(small)) <= 75_000
    assert len(document.html(small, carries_code=False)) <= 12_000


def test_the_letters_of_packed_data_mean_nothing_in_a_script_or_in_html():
    """Neither escapes, comments, tags nor entities."""
    page = document.html(samples.instant_run())
    strings = re.findall(r'(?:own = |unpack\()"([^"]*)"', page)

    assert 3 == len(strings)
    assert set() == set("\\<&") & set("".join(strings))


def test_ten_thousand_calls_stay_under_half_a_megabyte():
    """A long run can be saved in a notebook."""
    assert len(document.html(batch_run())) < 500_000


def test_the_view_comes_with_the_package_and_can_be_mounted():
    """The built JavaScript exports the widget and `mount`."""
    code = host.CODE.read_text("utf-8")

    assert re.search(r"export\s*\{[^}]*\bmount\b[^}]*\}|export function mount", code)
    assert "default" in code


def test_readers_without_scripts_see_the_file_of_a_run():
    """It is below the picture, with other remarks about the file."""
    read = replace(invoice_run(), file="a.json", remarks=("Read from <a>.", "Cut off."))
    still = document.still(read)

    assert "<p>Read from &lt;a&gt;.</p><p>Cut off.</p></details>" in still
    assert "Cut off" not in document.still(invoice_run())


def test_names_of_a_million_characters_are_cut():
    """The page stays small, and no time is spent on measuring them."""
    script = samples.Script()
    long, hidden = "N" * 1_000_000, "\u202e" * 1_000_000
    script.model(long)
    script.model(hidden, device=long)
    root = script.call(None, long, 0, 5, 5, 900, 5)
    root.request_fields, root.notes = RequestFields(request_id=hidden), [hidden]
    call = script.call(root, hidden, 10, 5, 5, 90, 5)
    samples.fail(call, long)
    call.instance, call.inputs = long, (samples.strings(long, long),)
    trace = script.trace()

    assert 150_000 > len(document.page(trace))
    assert 5_000 > len(tree(trace))
    assert 500 > len(heading(trace))
