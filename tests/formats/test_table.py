"""`import table`: any table of questions, its columns guessed or named, comes back as the items it holds."""

from __future__ import annotations

import base64
import csv
import io
import json
import tracemalloc
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from tests.commands import invoke

import veridical
from veridical.benchmark import Benchmark
from veridical.benchmark.check import check
from veridical.errors import UserError
from veridical.formats.lines import Problems
from veridical.formats.releases import Request
from veridical.formats.table.files import open_file
from veridical.formats.table.importing import QuestionsImport, read_questions, read_table
from veridical.options.importing import TableOptions
from veridical.records import TRUTH, Item, Text

from ._server import serving
from ._tables import picture

FOUR = "question,A,B,C,D,answer\nWhat is it?,cat,dog,bird,fish,B\nWhich colour?,red,green,blue,grey,D\n"


def imported(path: Path, **options: Any) -> QuestionsImport:
    if "name" not in options:  # tables of several names come to one place
        options["name"] = "q"
    found = veridical.import_release("table", path, path.parent / "b", **options)
    assert isinstance(found, QuestionsImport)
    report = check(path.parent / "b")
    assert report.ok, report.problems
    return found


def items(path: Path, split: str = "test", **options: Any) -> list[Item]:
    imported(path, **options)
    return list(Benchmark(path.parent / "b").items(split, answers=True))


def written(folder: Path, text: str, name: str = "q.csv") -> Path:
    path = folder / name
    path.write_bytes(text.encode())
    return path


def words_of(path: Path, **options: Any) -> list[Item]:
    """The items of a table without pictures, as they would be written."""
    request = Request(path)
    _, read = read_questions(read_table(request, TableOptions(**options)), request, (), Problems())
    return [one.item(read.task, []) for one in read.questions]


def roles(found: QuestionsImport) -> dict[str, str]:
    return {use.column: use.role for use in found.columns}


# --- the law ---------------------------------------------------------------------------------------------------------

TEXTS = st.text("abcXYZ 0189'\",;.\n!?é你-", min_size=1, max_size=12).map(str.strip).filter(bool)
PLAIN = st.text("abcXYZ 0189.é你-", min_size=1, max_size=8).map(str.strip).filter(bool)


@st.composite
def tables(draw: st.DrawFn, texts: st.SearchStrategy[str]) -> list[dict[str, Any]]:
    width = draw(st.integers(2, 5))
    ragged = draw(st.booleans())
    out = []
    for number in range(draw(st.integers(1, 6))):
        count = draw(st.integers(2, width)) if ragged else width
        choices = draw(st.lists(texts, min_size=count, max_size=count, unique=True))
        row = {"id": f"q{number}", "question": draw(TEXTS), "choices": choices}
        row["answer"] = draw(st.integers(0, count - 1))
        row["group"] = draw(st.sampled_from(["g1", "g2"]))
        row["category"] = draw(st.sampled_from(["easy", "hard"]))
        out.append(row)
    return out


def spelled(row: dict[str, Any], style: str) -> Any:
    place: int = row["answer"]
    return {"letter": "ABCDE"[place], "index0": place, "index1": place + 1, "text": row["choices"][place]}[style]


def laid_out(rows: list[dict[str, Any]], layout: str, style: str) -> list[dict[str, Any]]:
    width = max(len(row["choices"]) for row in rows)
    out = []
    for row in rows:
        cells = {"id": row["id"], "question": row["question"], "answer": spelled(row, style)}
        cells |= {"group": row["group"], "category": row["category"]}
        if layout == "columns":
            padded = [*row["choices"], *[""] * (width - len(row["choices"]))]
            cells |= dict(zip("ABCDE", padded, strict=False))
        else:
            said = {"json": json.dumps(row["choices"]), "repr": str(row["choices"]), "bar": "|".join(row["choices"])}
            cells["choices"] = row["choices"] if layout == "list" else said[layout]
        out.append(cells)
    return out


def save(rows: list[dict[str, Any]], path: Path) -> Path:
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, rows[0], delimiter="\t" if path.suffix == ".tsv" else ",")
            writer.writeheader()
            writer.writerows(rows)
    return path


def item_of(row: dict[str, Any]) -> Item:
    candidates = tuple(map(Text, row["choices"]))
    group, tags = row["group"], (("category", row["category"]),)
    origins = (f"group {group}",)
    return Item(row["id"], "choice", (), Text(row["question"]), candidates, row["answer"], group, origins, tags=tags)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_any_table_comes_back_as_its_items(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    suffix = data.draw(st.sampled_from([".csv", ".tsv", ".jsonl", ".parquet"]))
    layouts = ["columns", "json", "repr", "bar"] + (["list"] if suffix in (".jsonl", ".parquet") else [])
    layout = data.draw(st.sampled_from(layouts))
    style: Any = data.draw(st.sampled_from(["letter", "index0", "index1", "text"]))
    rows = data.draw(tables(PLAIN if layout == "bar" else TEXTS))
    truth = all(sorted(map(str.casefold, row["choices"])) == ["false", "true"] for row in rows)
    lettered = all(c[:1].upper() == "ABCDE"[k] for row in rows for k, c in enumerate(row["choices"]))
    assume(not truth and not lettered)
    path = save(laid_out(rows, layout, style), tmp_path_factory.mktemp("t") / f"q{suffix}")
    try:
        found = words_of(path)
    except UserError as error:
        if "can be read in two ways" not in error.problem:
            raise
        found = words_of(path, answer_as=style)  # what cannot be known is read as told
    expected = [item_of(row) for row in rows]
    assert found == expected


# --- columns ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("header", "row", "found"),
    [
        ("Question,Option A,Option B,Correct Answer", "q,x,y,A", ["Option A", "Option B"]),
        ("query,choice1,choice2,label", "q,x,y,2", ["choice1", "choice2"]),
        ("stem,opa,opb,cop", "q,x,y,B", ["opa", "opb"]),
        ("question,option_0,option_1,answer_idx", "q,x,y,0", ["option_0", "option_1"]),
        ("question,options,answer", "q,x|y,x", ["options"]),
        ("question,choices,answerKey", 'q,"[""x"", ""y""]",B', ["choices"]),
        ("question,answer1,answer2,correct", "q,x,y,y", ["answer1", "answer2"]),
    ],
)
def test_columns_are_guessed(header: str, row: str, found: list[str], tmp_path: Path) -> None:
    result = imported(written(tmp_path, f"{header}\n{row}\n"))
    assert [name for name, role in roles(result).items() if role in ("choice", "choices")] == found
    assert sorted(roles(result).values()).count("answer") == 1
    (item,) = Benchmark(tmp_path / "b").items("test")
    assert item.candidates == (Text("x"), Text("y"))


def test_what_became_of_each_column_is_shown(tmp_path: Path) -> None:
    path = written(
        tmp_path, "id,question,A,B,answer,level,explanation,seen\n"
        + "".join(f"{n},What {n}?,x,y,{'AB'[n % 2]},{['easy', 'hard'][n % 2]},Because {n}.,{n * 7}\n" for n in range(6))
    )  # fmt: skip
    done = invoke("import", "table", path, "--out", tmp_path / "b")
    assert done.exit_code == 0
    shown = {line.split()[0]: line.split()[1:] for line in done.stdout.splitlines() if line.strip()}
    assert shown["question"] == ["question"]
    assert shown["answer"] == ["answer", "a", "letter"]
    assert (shown["level"], shown["explanation"], shown["seen"]) == (["tag"], ["ignored"], ["ignored"])


def test_columns_can_be_named(tmp_path: Path) -> None:
    path = written(tmp_path, "frage,eins,zwei,richtig,thema\nWas?,rot,blau,2,x\nWo?,hier,dort,1,y\n")
    with pytest.raises(UserError, match=r"No column of questions was found among: frage, eins.*\n.*--question NAME"):
        imported(path)
    found = items(path, question="frage", choices=["eins", "zwei"], answer="richtig", tag="thema")
    assert [(item.answer, item.tags) for item in found] == [(1, (("thema", "x"),)), (0, (("thema", "y"),))]
    with pytest.raises(UserError, match=r"There is no column 'fragen' for --question. Did you mean 'frage'"):
        imported(path, question="fragen")
    with pytest.raises(UserError, match="'eins' is given for --choices and --answer"):
        imported(path, question="frage", choices=["eins", "zwei"], answer="eins")


def test_options_of_tables_are_refused_by_releases(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="import nlvr has no use for --answer-as"):
        veridical.import_release("nlvr", tmp_path, tmp_path / "b", answer_as="text")
    with pytest.raises(UserError, match="--answer-as is 'word'"):
        veridical.import_release("table", tmp_path, tmp_path / "b", answer_as="word")


# --- separators, marks, lines ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("comma", [",", ";", "\t", "|"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_separators_and_marks(comma: str, mark: str, tmp_path: Path) -> None:
    found = items(written(tmp_path, mark + FOUR.replace(",", comma)))
    assert [item.answer for item in found] == [1, 3]
    assert found[0].candidates == tuple(map(Text, ("cat", "dog", "bird", "fish")))


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"])
def test_ends_of_lines(end: str, tmp_path: Path) -> None:
    head, row = FOUR.replace("\n", end), ",b,c,d,e,A"
    long = "x" * (io.DEFAULT_BUFFER_SIZE - 1 - len(head + row)) + row  # a piece ends between \r and \n
    found = words_of(written(tmp_path, head + long + end + f'Why?,"a{end}b",c,d,e,A{end}'))
    assert [item.answer for item in found] == [1, 3, 0, 0]
    assert found[3].candidates[0] == Text(f"a{end}b")


def test_a_table_with_pictures_is_not_in_memory_twice(tmp_path: Path) -> None:
    row = f"What?,x,y,A,{'z' * 1000}\n"
    path = written(tmp_path, "question,A,B,answer,image\n" + row * 2000)
    file = open_file(path)
    tracemalloc.start()
    assert sum(1 for _ in file.rows()) == 2000
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < path.stat().st_size / 2


def test_lines_are_those_of_the_file(tmp_path: Path) -> None:
    text = 'question,A,B,answer\n"two\nlines",x,y,A\n\nwhat?,x,y,E\n'
    with pytest.raises(UserError, match=r"q.csv, line 5: the answer 'E' is none of the choices; expected A to B"):
        imported(written(tmp_path, text))
    with pytest.raises(UserError, match=r"q.csv, line 3: 3 fields; the first line names 4 columns"):
        imported(written(tmp_path, "question,A,B,answer\nwhat?,x,y,A\nwhat?,x,y\n"))
    with pytest.raises(UserError, match=r"line 2: 5 fields; .* 4 columns. A text with ',' in it needs quotes"):
        imported(written(tmp_path, "question,A,B,answer\nwhat, then?,x,y,A\n"))
    with pytest.raises(UserError, match=r"line 2: a text begins with a quote, and no quote ends it"):
        imported(written(tmp_path, 'question,A,B,answer\n"what?,x,y,A\n'))
    rows = [{"question": "q", "choices": ["a", "b"], "answer": k} for k in (0, 1, 7)]
    with pytest.raises(UserError, match=r"q.parquet, row 3: the answer '7' is none .* a number from 0 to 1"):
        imported(save(rows, tmp_path / "q.parquet"))
    assert not (tmp_path / "b").exists()


def test_bad_rows_can_be_left_out(tmp_path: Path) -> None:
    path = written(tmp_path, FOUR + "What?,only,,,,A\nWho?,a,b,c,d,A\n")
    with pytest.raises(UserError, match="line 4: 1 choices; expected 2 to 26"):
        imported(path)
    found = imported(path, keep_going=True)
    assert [str(one) for one in found.left_out] == ["q.csv, line 4: 1 choices; expected 2 to 26."]
    assert found.counts["items"]["main"] == {"test": 3}


def test_an_empty_table_and_one_of_another_kind(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="No column of questions"):
        imported(written(tmp_path, ""))
    with pytest.raises(UserError, match="holds no question"):
        imported(written(tmp_path, "question,A,B,answer\n"))
    with pytest.raises(UserError, match="does not end in"):
        imported(written(tmp_path, "x", "q.xlsx"))
    with pytest.raises(UserError, match="is not a list of questions"):
        imported(written(tmp_path, "[1, 2]", "q.json"))


# --- answers ---------------------------------------------------------------------------------------------------------


def test_a_place_that_could_count_from_0_or_1_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, "question,A,B,C,answer\nq1,x,y,z,1\nq2,u,v,w,2\n")
    with pytest.raises(UserError, match=r"can be read in two ways: '1' is a place counted from 0 \('y'\) or a place "
                       r"counted from 1 \('x'\)") as error:  # fmt: skip
        imported(path)
    assert error.value.fix == "Say which: --answer-as index0 or --answer-as index1."
    assert [item.answer for item in items(path, answer_as="index1")] == [0, 1]
    assert [item.answer for item in items(path, answer_as="index0")] == [1, 2]


def test_numbers_that_are_texts_are_not_places(tmp_path: Path) -> None:
    path = written(tmp_path, "question,A,B,C,answer\nHow many?,2,3,5,3\nAnd here?,7,8,9,9\n")
    assert [item.answer for item in items(path)] == [1, 2]


@pytest.mark.parametrize("said", ["B", "b", "(B)", "B.", "B) dog", "Option B", "dog", "DOG.", '["B"]'])
def test_ways_to_write_an_answer(said: str, tmp_path: Path) -> None:
    rows = [{"question": "What?", "choices": ["cat", "dog", "bird"], "answer": said}]
    assert [item.answer for item in items(save(rows, tmp_path / "q.jsonl"))] == [1]


def test_a_text_that_two_choices_have_is_said_to_be_two(tmp_path: Path) -> None:
    path = written(tmp_path, "question,A,B,C,answer\nq,cat,dog,fish,dog\nr,red,blue,red,red\n")
    with pytest.raises(UserError, match=r"q\.csv, line 3: the answer 'red' is the text of choices A and C; expected"):
        imported(path)


def test_two_right_answers_are_refused(tmp_path: Path) -> None:
    rows = [{"question": "What?", "choices": ["cat", "dog", "bird"], "answer": ["A", "B"]}]
    with pytest.raises(UserError, match="2 right answers"):
        imported(save(rows, tmp_path / "q.jsonl"))
    lists = [{"question": "Which?", "choices": ["[0, 1]", "[1, 2]"], "answer": "[1, 2]"}]
    assert [item.answer for item in items(save(lists, tmp_path / "q.jsonl"))] == [1]


def test_letters_of_columns_with_holes(tmp_path: Path) -> None:
    (item,) = items(written(tmp_path, "question,A,B,C,D,answer\nWhat?,x,,y,z,C\n"))
    assert (item.candidates, item.answer) == ((Text("x"), Text("y"), Text("z")), 1)


def test_choices_that_say_their_letters_and_labels_of_their_own(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [{"question": "What?", "options": ["A. cat", "B. dog"], "answer": "B"}]
    (item,) = items(save(rows, tmp_path / "q.jsonl"))
    assert (item.candidates, item.answer) == ((Text("cat"), Text("dog")), 1)
    arc = [{"question": "q", "choices": {"text": ["cat", "dog"], "label": ["1", "2"]}, "answerKey": "2"}]
    (item,) = items(save(arc, tmp_path / "arc.jsonl"))
    assert (item.candidates, item.answer) == ((Text("cat"), Text("dog")), 1)
    by_letter = [{"question": "q", "options": {"A": "cat", "B": "dog"}, "answer": "A"}]
    (item,) = items(save(by_letter, tmp_path / "letters.jsonl"))
    assert (item.candidates, item.answer) == ((Text("cat"), Text("dog")), 0)
    numpy = written(tmp_path, "question,choices,answer\nq,\"['a cat' 'a dog']\",1\nr,\"['up' 'down']\",0\n")
    assert [i.candidates[1] for i in items(numpy)] == [Text("a dog"), Text("down")]
    three = ["array(['a cat', 'a dog', 'a cow'], dtype=object)", "np.array(['up', 'down', 'in'], dtype='<U4')"]
    arrays = written(tmp_path, f'question,choices,answer\nq,"{three[0]}",C\nr,"{three[1]}",A\n', "arrays.csv")
    found = [[one.raw for one in i.candidates if isinstance(one, Text)] for i in words_of(arrays)]
    assert found == [["a cat", "a dog", "a cow"], ["up", "down", "in"]]


def test_wrong_answers_in_columns_of_their_own(tmp_path: Path) -> None:
    """The right one is put among them in an order that says nothing about which it is."""
    rows = "".join(f"Which {n}?,right {n},wrong {n},bad {n},no {n}\n" for n in range(200))
    path = written(tmp_path, "question,correct_answer,distractor1,distractor2,distractor3\n" + rows)
    found = items(path)
    assert all(item.candidates[item.answer or 0].raw.startswith("right") for item in found)  # type: ignore[union-attr]
    places = [sum(item.answer == k for item in found) for k in range(4)]
    assert min(places) > 25
    letters = written(tmp_path, "question,correct,wrong1,wrong2\nWhat?,b,x,z\nWho?,c,y,w\n")
    assert [item.candidates[item.answer or 0] for item in items(letters)] == [Text("b"), Text("c")]


# --- true and false --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", [("true", "false"), ("True", "False"), ("1", "0"), ("T", "F"), ("yes", "no")])
def test_statements(words: tuple[str, str], tmp_path: Path) -> None:
    path = written(tmp_path, f"statement,label\nIt rains.,{words[0]}\nIt snows.,{words[1]}\n")
    found = items(path)
    assert [(item.task, item.candidates, item.answer) for item in found] == [("statement", TRUTH, k) for k in (1, 0)]


@pytest.mark.parametrize("told", ["letter", "index0", "index1", "text"])
def test_statements_have_no_choices_to_name(told: str, tmp_path: Path) -> None:
    path = written(tmp_path, "statement,label\nIt rains.,1\nIt snows.,0\n")
    with pytest.raises(UserError, match=rf"No column of choices .* --answer-as {told} says") as error:
        imported(path, answer_as=told)
    assert "Statements are true or false" in error.value.fix
    assert [item.answer for item in items(path, answer_as="truth")] == [1, 0]


def test_statements_without_labels(tmp_path: Path) -> None:
    found = words_of(written(tmp_path, "statement,label\nIt rains.,\nIt snows.,?\n"))
    assert [(item.task, item.candidates, item.answer) for item in found] == [("statement", TRUTH, None)] * 2
    with pytest.raises(UserError, match="No column of choices"):
        imported(written(tmp_path, "question,answer\nWhat?,\n", "open.csv"))


def test_choices_between_true_and_false_are_statements(tmp_path: Path) -> None:
    path = written(tmp_path, "question,A,B,answer\nIt rains.,True,False,A\nIt snows.,False,True,A\n")
    assert [(item.candidates, item.answer) for item in items(path)] == [(TRUTH, 1), (TRUTH, 0)]


def test_questions_of_yes_and_no(tmp_path: Path) -> None:
    path = written(tmp_path, "question,answer\nDoes it rain?,Yes\nDoes it snow?,no\n")
    found = items(path)
    assert {item.candidates for item in found} == {(Text("yes"), Text("no"))}
    assert [item.answer for item in found] == [0, 1]
    missing = written(tmp_path, "question,answer\nDoes it rain?,Yes\nDoes it snow?,?\n", "missing.csv")
    assert {item.answer for item in items(missing, hide="test")} == {0, None}


def test_open_questions_are_no_choices(tmp_path: Path) -> None:
    path = written(tmp_path, "question,answer\nWhat is it?,a cat\nAnd this?,a dog\n")
    with pytest.raises(UserError, match=r"No column of choices .* the answers are not true or false \('a cat'\)"):
        imported(path)
    rows = [
        {"question": "q", "options": "['x', 'y']", "answer": "A"},
        {"question": "r", "options": "[]", "answer": "z"},
    ]
    found = imported(save(rows, tmp_path / "q.jsonl"))
    assert found.notes == ("Left out: 1 open questions, whose list of choices is empty.",)


# --- ids, splits, groups, hidden answers ------------------------------------------------------------------------------


def test_ids(tmp_path: Path) -> None:
    path = written(tmp_path, "id,question,A,B,answer\n7,q,x,y,A\n7,r,x,y,B\n")
    with pytest.raises(UserError, match=r"line 3: the id '7' is also that of q.csv, line 2.\n.*--id none"):
        imported(path)
    assert [item.id for item in items(path, id="none")] == ["1", "2"]
    again = written(tmp_path, "id,split,question,A,B,answer\n1,train,q,x,y,A\n1,test,r,x,y,B\n")
    assert [item.id for item in items(again, "train")] == ["train-1"]
    with pytest.raises(UserError, match="cannot be an id"):
        imported(written(tmp_path, "id,question,A,B,answer\na\x1bb,q,x,y,A\n"))


def test_splits(tmp_path: Path) -> None:
    path = written(tmp_path, "question,A,B,answer,split\nq,x,y,A,train\nr,x,y,B,test\n")
    assert imported(path).counts["items"]["main"] == {"train": 1, "test": 1}
    assert imported(path, split="test").counts["items"]["main"] == {"test": 1}
    with pytest.raises(UserError, match="has no split 'dev'; found: test, train"):
        imported(path, split="dev")
    with pytest.raises(UserError, match=r"line 2: '../x' cannot name a split"):
        imported(written(tmp_path, "question,A,B,answer,split\nq,x,y,A,../x\n"))
    one = written(tmp_path, FOUR, "my_dev.csv")
    assert list(imported(one).counts["items"]["main"]) == ["dev"]
    assert list(imported(one, split="mine").counts["items"]["main"]) == ["mine"]


def test_a_folder_of_tables(tmp_path: Path) -> None:
    folder = tmp_path / "tables"
    folder.mkdir()
    written(folder, FOUR, "train.csv")
    save([{"question": "q", "A": "x", "B": "y", "answer": "A"}], folder / "test.jsonl")
    found = veridical.import_release("table", folder, tmp_path / "b")
    assert found.counts["items"]["main"] == {"train": 2, "test": 1}
    assert [item.id for item in Benchmark(tmp_path / "b").items("train")] == ["train-1", "train-2"]


def test_missing_answers(tmp_path: Path) -> None:
    path = written(tmp_path, "question,A,B,answer\nq,x,y,A\nr,x,y,\n")
    with pytest.raises(
        UserError, match=r"line 3: the answer is missing; other rows of 'test' have one.\n.*--hide test"
    ):
        imported(path)
    found = items(path, hide=["test"])
    assert {item.query.raw: item.answer for item in found} == {"q": 0, "r": None}
    assert [item.answer for item in Benchmark(tmp_path / "b").items("test")] == [None, None]
    none = written(tmp_path, "question,A,B,answer\nq,x,y,?\nr,x,y,?\n", "none.csv")
    result = imported(none, replace=True)
    assert "Split 'test' has no answers: they count as hidden." in result.notes
    assert not (tmp_path / "b.hidden").exists()


def test_hidden_answers_stay_hidden(tmp_path: Path) -> None:
    path = written(tmp_path, "question,A,B,answer,category\n" + "q,x,y,A,tells B\nr,x,y,B,tells A\n" * 3)
    imported(path, hide="test")
    public = b"".join(one.read_bytes() for one in sorted((tmp_path / "b").iterdir()))
    assert b"tells" not in public
    found = Benchmark(tmp_path / "b").items("test", answers=True)
    assert sorted((item.query.raw, item.answer, *item.tags) for item in found) == sorted(
        [("q", 0, ("category", "tells B")), ("r", 1, ("category", "tells A"))] * 3
    )
    with pytest.raises(UserError, match="say --replace"):
        imported(path)
    with pytest.raises(UserError, match="has no split 'dev' to hide"):
        imported(path, hide="dev", replace=True)


def test_groups_count_together(tmp_path: Path) -> None:
    path = written(tmp_path, "question,A,B,answer,group\nq,x,y,A,one\nr,x,y,B,one\n")
    assert [item.group for item in items(path)] == ["one", "one"]


# --- pictures --------------------------------------------------------------------------------------------------------


def one_picture(folder: Path, cell: Any, **options: Any) -> list[bytes | str | None]:
    """What the panels of a table with one row hold: bytes, or addresses."""
    row = {"question": "What?", "A": "x", "B": "y", "answer": "A", "image": cell}
    suffix = "parquet" if isinstance(cell, bytes | dict) or (isinstance(cell, list) and cell[0] != "x.png") else "jsonl"
    imported(save([row], folder / f"q.{suffix}"), **options)
    made = Benchmark(folder / "b")
    (item,) = made.items("test")
    panels = [made.panels[name] for name in item.panels]
    return [made.image(panel.image).to_pybytes() if panel.image else panel.uri for panel in panels]


def test_pictures_of_every_kind(tmp_path: Path) -> None:
    red, blue = picture("red"), picture("blue")
    (tmp_path / "x.png").write_bytes(red)
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "y z.png").write_bytes(blue)
    coded = base64.b64encode(red).decode()
    for cell in ("x.png", "./more/../x.png", str(tmp_path / "x.png"), (tmp_path / "x.png").as_uri(), coded,
                 f"data:image/png;base64,{coded}", red, {"bytes": red, "path": None}, "['x.png']"):  # fmt: skip
        assert one_picture(tmp_path, cell) == [red], cell
    for cell in (["x.png", "more/y z.png"], "x.png;more/y z.png", "x.png, more/y z.png", [red, blue],
                 [{"bytes": red, "path": None}, {"bytes": blue, "path": None}]):  # fmt: skip
        assert one_picture(tmp_path, cell) == [red, blue], cell
    assert one_picture(tmp_path, "y z.png", images=tmp_path / "more") == [blue]
    assert one_picture(tmp_path, None) == []


def test_several_columns_of_pictures(tmp_path: Path) -> None:
    for name in ("red", "blue"):
        (tmp_path / f"{name}.png").write_bytes(picture(name))
    for header in ("image_1,image_2", "left_image,right_image", "img1,img2"):
        path = written(tmp_path, f"statement,label,{header}\nThey differ.,true,red.png,blue.png\nOne.,false,red.png,\n")
        assert [len(item.panels) for item in items(path)] == [2, 1]


@pytest.mark.parametrize("more", [[], ["--fetch"]])
def test_pictures_in_lists_without_end(tmp_path: Path, more: list[str]) -> None:
    """Found by the fuzzer: a RecursionError."""
    (tmp_path / "red.png").write_bytes(picture("red"))
    cells = ["red.png", [["red.png"]], json.loads("[" * 900 + '"red.png"' + "]" * 900)]
    rows = [{"question": f"{n}?", "A": "a", "B": "b", "answer": "A", "image": cell} for n, cell in enumerate(cells)]
    (tmp_path / "t.json").write_text(json.dumps(rows))
    ran = invoke("import", "table", tmp_path / "t.json", "--out", tmp_path / "out", *more)
    assert ran.exit_code == 2
    assert "nested too deeply" in ran.stderr
    assert invoke("import", "table", tmp_path / "t.json", "--keep-going", "--out", tmp_path / "out").exit_code == 0


def test_addresses_are_kept_or_fetched(tmp_path: Path) -> None:
    with serving() as site:
        site.files["/red.png"] = picture("red")
        address = f"{site.url}/red.png"
        assert one_picture(tmp_path, address) == [address]
        assert site.log == []
        found = imported(tmp_path / "q.jsonl")
        assert found.notes == ("1 pictures are addresses, which are kept and were not fetched (--fetch).",)
        assert one_picture(tmp_path, address, fetch=True) == [picture("red")]


@pytest.mark.parametrize("name", ["../secret.png", "link.png", "folder/secret.png"])
def test_no_picture_from_outside(name: str, tmp_path: Path) -> None:
    (tmp_path / "secret.png").write_bytes(picture("red"))
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "link.png").symlink_to(tmp_path / "secret.png")
    (inside / "folder").symlink_to(tmp_path)
    path = written(inside, f"question,A,B,answer,image\nq,x,y,A,{name}\n")
    with pytest.raises(UserError, match="leads out of"):
        imported(path)
    with pytest.raises(UserError, match="leads out of"):
        imported(written(inside, f"question,A,B,answer,image\nq,x,y,A,{tmp_path / 'secret.png'}\n"))
    assert items(path, images=tmp_path)[0].panels or name == "folder/secret.png"


def test_pictures_that_cannot_be_used(tmp_path: Path) -> None:
    (tmp_path / "cut.png").write_bytes(picture("red")[:60])
    for cell, problem in (("gone.png", "neither a file in"), ("cut.png", "'cut.png': the image is cut off"),
                          ("A" * 100, "not an image"), (17, "picture is 17"), ("a\0b", "neither a file")):  # fmt: skip
        rows = [{"question": "q", "A": "x", "B": "y", "answer": "A", "image": cell}]
        path = save(rows, tmp_path / "q.jsonl")
        with pytest.raises(UserError, match=rf"q.jsonl, line 1: .*{problem}"):
            imported(path)
        with pytest.raises(UserError, match="--image none"):
            imported(path)
    assert items(path, image=["none"])[0].panels == ()


def test_file_names_are_not_published(tmp_path: Path) -> None:
    (tmp_path / "the-answer-is-b.png").write_bytes(picture("red"))
    imported(written(tmp_path, "question,A,B,answer,image\nq,x,y,B,the-answer-is-b.png\n"), hide="test")
    assert not any(b"the-answer" in one.read_bytes() for one in (tmp_path / "b").iterdir())
