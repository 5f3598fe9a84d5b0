"""Real requests: pages, filters, pictures, what is refused, and that nothing hidden or written ever gets out."""

from __future__ import annotations

import json
import re
import shutil
import stat
from html import unescape
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from starlette.testclient import TestClient
from tests.web.explore.conftest import predict

from veridical.benchmark import Benchmark, BenchmarkWriter, tables
from veridical.errors import UserError
from veridical.evaluation import compare, evaluate
from veridical.records import TRUTH, Item, Panel, Text, pairs
from veridical.web.explore.app import app
from veridical.web.explore.explorer import Explorer
from veridical.web.explore.facets import SOLVER
from veridical.web.explore.shelf import Shelf

MOST = 200_000  # bytes of a page without pictures


def words(text: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", text)).split())


def links(text: str, pattern: str) -> list[str]:
    return [unescape(one) for one in re.findall(rf'href="({pattern}[^"]*)"', text)]


def test_the_grid_shows_items_and_facets(client: TestClient, opened: Explorer) -> None:
    page = client.get("/")
    assert page.status_code == 200
    assert len(page.content) < MOST
    assert page.text.count('<article class="card">') == 24
    assert "Text without pictures" in words(page.text)  # a finding of the audit is a facet
    assert client.get("/?page=2").text.count('<article class="card">') == 24


def test_many_values_make_no_large_page(client: TestClient) -> None:
    page = client.get("/?" + "&".join(f"phenomenon={number}" for number in range(3000)))
    assert page.status_code == 200
    assert len(page.content) < 2 * MOST


def test_right_and_wrong_are_what_evaluate_says(client: TestClient, opened: Explorer) -> None:
    for solver in opened.solvers:
        scores = evaluate(opened.benchmark, solver.files["main", "dev"].path)
        page = client.get("/", params={f"{SOLVER}{solver.name}": "right"})
        count = int(re.search(r"<b>([0-9,]+)</b> of", page.text)[1])
        assert count / scores.items == scores.accuracy.value


def test_an_item_shows_all_that_is_known(client: TestClient, opened: Explorer) -> None:
    first = next(iter(opened.benchmark.items("dev")))
    page = client.get("/item", params={"id": first.id, "split": "dev"})
    said = words(page.text)
    assert first.text in said
    assert "because <b>it</b> is so" in said  # what a solver wrote, as text
    assert "0.75" in said
    assert "0.125" in said
    assert "It is guessed." in said
    assert "validation" in said  # a judgement
    assert first.program in said
    assert "1 of 32 items" in said
    assert 'class="drawing"' in page.text  # the scene that explains the program


def test_previous_and_next_stay_within_the_filter(client: TestClient, opened: Explorer) -> None:
    query = {"split": "dev", f"{SOLVER}keen": "wrong"}
    grid = client.get("/", params=query).text
    expected = [re.search(r"[?&]id=([^&]+)", one)[1] for one in links(grid, "/item")]
    assert len(expected) == 8
    page, seen = client.get(links(grid, "/item")[0]).text, []
    while True:
        seen.append(re.search(r"<h1>(.*?)</h1>", page)[1])
        after = re.search(r'rel="next" href="([^"]+)"', page)
        if after is None:
            break
        page = client.get(unescape(after[1])).text
    assert seen == expected


def test_two_solvers_are_compared_as_the_verb_does(client: TestClient, opened: Explorer) -> None:
    page = client.get("/diff", params={"a": "keen", "b": "dull"}).text
    files = [opened.solver(name).files["main", "dev"].path for name in ("keen", "dull")]
    verdict = compare(opened.benchmark, *files).verdict
    assert verdict.replace("keen.jsonl", "keen").replace("dull.jsonl", "dull") in words(page)
    counts = [int(one) for one in re.findall(r"<b>([0-9,]+)</b>(?:both|only|neither)", page)]
    assert counts == [16, 8, 0, 8]
    for link, count in zip(links(page, r"/\?"), counts, strict=False):
        assert f"<b>{count}</b>" in client.get(link).text


def test_a_difference_by_tag_leads_to_what_makes_it(client: TestClient, opened: Explorer) -> None:
    """A tag to its items, a difference to those that only the better solver gets right; no tag without a difference."""
    page = client.get("/diff", params={"a": "keen", "b": "dull"}).text
    rows = re.findall(r'<tr><th class="name" scope="row">.*?</tr>', page)
    assert len(rows) > 1
    clear = []
    for row in rows:
        tagged, won = (client.get(one).text for one in links(row, r"/\?"))
        items, keen, dull, lead = (float(one) for one in re.findall(r"([+-]?[0-9.]+)(?:</a>)?</td>", row))
        assert f"<b>{items:.0f}</b> of" in tagged
        assert lead == pytest.approx(keen - dull, abs=0.11)
        assert lead > 0  # keen is right wherever dull is
        assert f"<b>{items * lead / 100:.0f}</b> of" in won
        clear.append(lead * items**0.5)
    assert clear == sorted(clear, reverse=True)


def test_pictures_are_small_and_kept_for_ever(client: TestClient) -> None:
    address = re.search(r'src="(/picture/[^"]+)"', client.get("/").text)[1]
    found = client.get(address)
    assert found.headers["content-type"].startswith("image/")
    assert "immutable" in found.headers["cache-control"]
    again = client.get(address, headers={"if-none-match": found.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    for wrong in ("x", address.rsplit("/", 1)[1].replace("-360", "-99999"), "00" * 32 + "-360", "../../etc/passwd"):
        assert client.get(f"/picture/{wrong}").status_code == 404


def test_strangers_are_refused(client: TestClient, opened: Explorer) -> None:
    assert client.get("/", headers={"host": "evil.example"}).status_code == 400
    for method in ("POST", "PUT", "DELETE", "PATCH"):
        for path in ("/", "/item", "/diff"):
            assert client.request(method, path).status_code == 405
    headers = client.get("/").headers
    assert "default-src 'none'" in headers["content-security-policy"]
    assert headers["x-frame-options"] == "DENY"
    framed = TestClient(app(opened, frames=["http://localhost:*"]), base_url="http://127.0.0.1").get("/").headers
    assert "frame-ancestors http://localhost:*" in framed["content-security-policy"]


@pytest.mark.parametrize(
    "query",
    [
        "page=0",
        "page=99999999",
        "page=-1",
        "q=%00'",
        "split=%27;drop",
        "scheme=none",
        "all=split",
        "x=" + "y" * 3000,
        "q=" + "a+" * 200,
    ],
)
def test_no_address_breaks_it(client: TestClient, query: str) -> None:
    assert client.get(f"/?{query}").status_code == 200
    assert client.get(f"/item?{query}").status_code == 404
    assert client.get(f"/diff?{query}").status_code == 200


def test_hidden_answers_are_not_shown(nlvr: Path, tmp_path: Path) -> None:
    hid = predict(nlvr, "test-u", tmp_path / "hid.jsonl", lambda n, item: n % 2 > 0)
    secret = {item.id: item for item in Benchmark(nlvr).items("test-u", answers=True)}
    shy = Explorer(nlvr, [hid])
    assert shy.solvers == []  # how it did would give the answers away
    client = TestClient(app(shy), base_url="http://127.0.0.1")
    pages = [client.get("/", params={"split": "test-u", "page": k}).text for k in (1, 2)]
    pages += [client.get("/item", params={"id": name}).text for name in secret]
    for item in secret.values():
        assert item.program
        assert not any(item.program in unescape(page) for page in pages)
    assert all("hidden" in page for page in pages)
    assert '<b class="label">' not in "".join(pages)
    for value in ("true", "false"):
        assert "<b>0</b>" in client.get("/", params={"split": "test-u", "answer": value}).text
    bold = TestClient(app(Explorer(nlvr, [hid], hidden=True)), base_url="http://127.0.0.1")
    one = next(iter(secret.values()))
    assert one.program in unescape(bold.get("/item", params={"id": one.id}).text)


def test_hidden_needs_the_hidden_folder(vprom: Path) -> None:
    with pytest.raises(UserError, match="no hidden answers"):
        Explorer(vprom, hidden=True)


def test_nothing_is_written_into_the_benchmark(nlvr: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in nlvr.rglob("*")}
    nlvr.chmod(stat.S_IRUSR | stat.S_IXUSR)
    try:
        client = TestClient(app(Explorer(nlvr)), base_url="http://127.0.0.1")
        assert client.get("/").status_code == 200
        assert client.get(links(client.get("/").text, "/item")[0]).status_code == 200
    finally:
        nlvr.chmod(stat.S_IRWXU)
    assert {path: path.stat().st_mtime_ns for path in nlvr.rglob("*")} == before


def test_texts_of_a_stranger_are_text(tmp_path: Path) -> None:
    bad = "<script>alert(1)</script>"
    with BenchmarkWriter(tmp_path / "bad", name=bad, task="statement") as writer:
        writer.add_panels([Panel("p", uri=f"https://x/{bad}")])
        tags = pairs(topic=bad, split="'; drop table items; --")
        writer.add_items(
            "dev", [Item(f"{bad}{n}", "statement", ("p",), Text(bad), TRUTH, 1, tags=tags) for n in range(3)]
        )
    said = tmp_path / "said.jsonl"
    said.write_text("".join(json.dumps({"item": f"{bad}{n}", "answer": n == 1, "raw": bad}) + "\n" for n in range(3)))
    client = TestClient(
        app(Explorer(tmp_path / "bad", [f"{bad.replace('/', '')}={said}"])), base_url="http://127.0.0.1"
    )
    grid = client.get("/").text
    pages = [grid, client.get("/", params={"q": bad, "topic": bad}).text, client.get(links(grid, "/item")[0]).text]
    for page in pages:
        assert bad not in page
        assert "alert(1)" in page
    assert "<b>3</b>" in client.get("/", params={"tag split": "'; drop table items; --"}).text


def test_a_rationale_is_shown_with_its_question(vcr: Path, tmp_path: Path) -> None:
    keen = predict(vcr, "val", tmp_path / "keen.jsonl", lambda n, item: n % 3 > 0)
    client = TestClient(app(Explorer(vcr, [keen])), base_url="http://127.0.0.1")
    items = list(Benchmark(vcr).items("val"))
    below = next(item for item in items if item.parent)
    page = client.get("/item", params={"id": below.id})
    assert page.history
    assert page.url.params["id"] == below.parent
    parent = next(item for item in items if item.id == below.parent)
    right = "ABCD"[parent.answer]
    said = words(page.text)
    assert said.index(f"Rationale, given that the answer is {right}") < said.index(
        "Rationale, given that the answer is " + "BA"[right == "B"]
    )
    assert 'class="points t0"' in page.text  # a tag, and its box
    assert 'class="b0"' in page.text
    scores = evaluate(vcr, keen)
    grid = client.get("/", params={"split": "val", f"{SOLVER}keen, rationale": "right"}).text
    questions = sum(item.parent is None for item in items)
    assert int(re.search(r"<b>([0-9,]+)</b> of", grid)[1]) / questions == scores.staged["QA->R"].value


def test_two_files_of_one_solver_are_told_apart_by_their_names(nlvr: Path, tmp_path: Path) -> None:
    files = [predict(nlvr, "dev", tmp_path / f"{name}.jsonl", lambda n, item: n % 2 > 0) for name in ("a", "b", "c")]
    names = [one.name for one in Explorer(nlvr, [f"net={file}" for file in [*files, files[2]]]).solvers]
    assert names == ["net", "net (b)", "net (c)", "net (2)"]


def test_matrices_and_their_schemes(vprom: Path) -> None:
    client = TestClient(app(Explorer(vprom)), base_url="http://127.0.0.1")
    grid = client.get("/", params={"scheme": "att.held"}).text
    assert 'href="/?scheme=neutral"' in grid
    page = client.get(links(grid, "/item")[0]).text
    assert page.count("<img") == 16
    name = re.search(r"<h1>(.*?)</h1>", page)[1]
    bench = Benchmark(vprom)
    items = [item for split in bench.splits_of("att.held") for item in bench.items(split, "att.held")]
    [answer] = [item.answer for item in items if item.id == name]
    right = re.findall(r'<figure class="right">.*?<figcaption>(\w) right</figcaption>', page, re.DOTALL)
    assert right == ["ABCDEFGH"[answer]]
    assert "scheme=att.held" in links(grid, "/item")[0]


def test_predictions_for_every_view(nlvr: Path, tmp_path: Path) -> None:
    lines = []
    for n, item in enumerate(Benchmark(nlvr).items("dev")):
        for view in range(len(item.views)):
            good = n % 3 == 0 or (n % 3 == 1 and view < 2)
            scores = [0.1, 0.9] if good == bool(item.answer) else [0.9, 0.1]
            lines.append(json.dumps({"item": f"{item.id}#{view}", "scores": scores}) + "\n")
    (tmp_path / "views.jsonl").write_text("".join(lines))
    client = TestClient(app(Explorer(nlvr, [tmp_path / "views.jsonl"])), base_url="http://127.0.0.1")
    grid = words(client.get("/").text)
    assert re.search(r"views wrong 10 right in some views 11 right 11", grid)
    second = list(Benchmark(nlvr).items("dev"))[1].id
    assert "view 6" in words(client.get("/item", params={"id": second}).text)


def test_a_damaged_benchmark_is_said_and_no_traceback(nlvr: Path, tmp_path: Path) -> None:
    shutil.copytree(nlvr, tmp_path / "cut")
    file = tmp_path / "cut" / "items-main-dev.parquet"
    file.write_bytes(file.read_bytes()[:-300])
    with pytest.raises(UserError, match="cannot be read"):
        Explorer(tmp_path / "cut").catalogue("main")
    client = TestClient(app(Explorer(tmp_path / "cut")), base_url="http://127.0.0.1", raise_server_exceptions=False)
    answer = client.get("/")
    assert answer.status_code == 500
    assert "veridical check" in answer.text


def test_a_table_whose_own_words_are_damaged(nlvr: Path, tmp_path: Path) -> None:
    """Found by the fuzzer: Arrow keeps its schema in a Parquet file, and says of a damaged one OSError."""
    path = tmp_path / "table.parquet"
    path.write_bytes((nlvr / "items-main-dev.parquet").read_bytes())
    told = pq.ParquetFile(path).metadata.metadata[b"ARROW:schema"]
    path.write_bytes(path.read_bytes().replace(told, told[:12] + b"/" * 40 + told[52:]))  # its length is as before
    with pytest.raises(ValueError, match="atbuffer"):
        Shelf.of_file(tmp_path / "shelf", tables.ITEMS, path)
    with pytest.raises(FileNotFoundError):
        Shelf.of_file(tmp_path / "shelf", tables.ITEMS, tmp_path / "nowhere.parquet")


@pytest.mark.parametrize("what", ["a column is missing", "a page is damaged"])
def test_a_table_that_opens_and_cannot_be_read(nlvr: Path, tmp_path: Path, what: str) -> None:
    """Found by the fuzzer: Arrow says both by other errors than its own."""
    path = tmp_path / "table.parquet"
    table = pq.read_table(nlvr / "items-main-dev.parquet")
    pq.write_table(table.drop_columns(["group"]) if what == "a column is missing" else table, path)
    if what == "a page is damaged":
        start = min(pq.ParquetFile(path).metadata.row_group(0).column(k).data_page_offset for k in range(3))
        data = bytearray(path.read_bytes())
        data[start : start + 40] = b"\x0e" * 40
        path.write_bytes(data)
    with pytest.raises(ValueError, match=r"group|thrift|page|bytes"):
        Shelf.of_file(tmp_path / "shelf", tables.ITEMS, path)
