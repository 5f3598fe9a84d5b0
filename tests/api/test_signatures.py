"""One signature for Python and for the command line: what a verb takes is what its command takes, and nothing else."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from types import NoneType, SimpleNamespace, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import pytest
from cyclopts import App
from tests.commands import invoke

import veridical
from veridical import api
from veridical.api.collecting import ACTIONS
from veridical.benchmark import Benchmark
from veridical.builders import BUILDERS, load_builder
from veridical.builders.nlvr2.collection import read_config
from veridical.cli import VERBS, commands
from veridical.cli.parser import app
from veridical.common.result import Result, ResultList
from veridical.errors import UserError
from veridical.options import gathered, given, given_names, refuse_unused
from veridical.options.building import MatchOptions, NLVR2Options, NLVROptions
from veridical.options.running import Asking, SolverOptions

SPELLED = {"weight": "lambda", "source": "from"}  # Python's own words; `source` is so called by `solve` alone
COMMANDS: dict[str, Callable[..., Any]] = {
    name: verb for name, verb in VERBS.items() if name not in ("build", "collect")
}
COMMANDS |= {f"build {name}": load_builder(name) for name in BUILDERS}
COMMANDS |= {f"collect {name}": action for name, action in ACTIONS.items()}


def flattened(verb: Callable[..., Any]) -> dict[str, tuple[Any, Any]]:
    """Everything that a verb can be told, by name: its default and its type."""
    out: dict[str, tuple[Any, Any]] = {}
    for name, one in inspect.signature(verb).parameters.items():
        if is_dataclass(one.default):
            hints = get_type_hints(type(one.default))
            out |= {field.name: (getattr(one.default, field.name), hints[field.name]) for field in fields(one.default)}
        elif one.kind is not one.VAR_KEYWORD:
            where = SimpleNamespace(__annotations__={name: one.annotation})
            out[name] = (one.default, get_type_hints(where, inspect.unwrap(verb).__globals__)[name])
    return out


def alternatives(hint: Any) -> set[Any]:
    """The types that a hint allows: Path | str | None are Path and str."""
    parts = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    return {part for part in parts if part is not NoneType}


def is_list(hint: Any) -> bool:
    return get_origin(hint) in (list, Sequence, Mapping) or (get_origin(hint) is tuple and get_args(hint)[-1] is ...)


def elements(hint: Any) -> set[Any]:
    """What a list holds: the types of its elements; of NAME=VALUE and of anything, what words can say."""
    found = alternatives(hint)
    found = {inner for part in found for inner in (alternatives(get_args(part)[0]) if is_list(part) else {part})}
    return found | ({str, bool} if Any in found else set())


@cache
def root(time: int = 0) -> App:
    """The command line, made once for each time that it is asked about."""
    return app()


def command(words: str, time: int = 0) -> App:
    found = root(time)
    for word in words.split():
        found = found[word]
    return found


@pytest.mark.parametrize("time", [0, 1])
@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_takes_what_its_verb_takes(name: str, time: int) -> None:
    wanted = set(flattened(COMMANDS[name]))
    if name == "solve":
        wanted = wanted - {"source"} | {"from"}
    wanted = {SPELLED.get(option, option) if option == "weight" else option for option in wanted}
    arguments = command(name, time).assemble_argument_collection()
    found = {next((n for n in one.names if n.startswith("--")), one.name) for one in arguments}
    found = {option.strip("-").lower().replace("-", "_") for option in found}
    assert found == wanted | {"json", "quiet"}


@pytest.mark.parametrize("name", COMMANDS)
def test_defaults_and_types_are_those_of_the_verb(name: str) -> None:
    wanted = flattened(COMMANDS[name])
    for one in command(name).assemble_argument_collection():
        if one.field_info.name in ("json", "quiet"):
            continue
        default, hint = wanted[one.field_info.name]
        assert one.required is (default is inspect.Parameter.empty), one.name
        found = one.field_info.default
        if one.field_info.kind is inspect.Parameter.VAR_POSITIONAL and default is not inspect.Parameter.empty:
            assert default == ()  # arguments that are left out are an empty list
        elif found == []:
            assert default is not None  # no names at all: an empty tuple or mapping
            assert len(default) == 0
        elif default is not inspect.Parameter.empty:
            assert found == (",".join(map(str, default)) if isinstance(found, str) and found != default else default)
        assert (Path in elements(one.hint)) is (Path in elements(hint)), one.name
        assert any(map(is_list, alternatives(one.hint))) is any(map(is_list, alternatives(hint))), one.name
        assert elements(one.hint) <= elements(hint) | ({str} if one.parameter.metavar == "A,B" else set()), one.name


@pytest.mark.parametrize("name", COMMANDS)
def test_everything_is_explained_and_nothing_has_more_than_ten_parameters(name: str) -> None:
    assert len(inspect.signature(COMMANDS[name]).parameters) <= 10
    for one in command(name).assemble_argument_collection():
        assert one.parameter.help, f"{one.name} of {name} is not explained"


def test_verbs_are_functions_with_complete_signatures() -> None:
    assert veridical.evaluate is veridical.evaluate is api.evaluate
    assert list(inspect.signature(veridical.evaluate).parameters)[:2] == ["benchmark", "predictions"]


def test_keywords_are_fields() -> None:
    assert given(NLVROptions(seed=3), {"presentations": 50}) == NLVROptions(presentations=50, seed=3)
    options, asking = gathered((SolverOptions(), Asking()), {"views": "all", "limit": 2})
    assert (options, asking) == (SolverOptions(limit=2), Asking(views="all"))
    with pytest.raises(TypeError, match="no option 'presentation'; did you mean 'presentations'"):
        given(NLVROptions(), {"presentation": 50})
    with pytest.raises(UserError, match="--from is 'smell'"):
        given(SolverOptions(), {"source": "smell"})


def test_old_keywords_are_answered_with_the_new_ones(tmp_path: Path) -> None:
    calls: dict[str, Callable[[], Any]] = {
        "set": lambda: veridical.train("mac", tmp_path, tmp_path / "run", config={}),
        "check": lambda: veridical.audit(tmp_path, checks=["blind"]),
        "learn": lambda: veridical.match(tmp_path, tmp_path / "m", learned=False),
        "split": lambda: veridical.match(tmp_path, tmp_path / "m", splits={"dev": 1.0}),
        "hide": lambda: veridical.match(tmp_path, tmp_path / "m", hidden=["test"]),
        "until": lambda: veridical.build("nlvr2", tmp_path / "b", stage="sets"),
    }
    for name, call in calls.items():
        with pytest.raises(TypeError, match=f"did you mean '{name}'"):
            call()


def test_flags_that_are_off_can_be_said_to_be_off() -> None:
    for words in ("features --no-views --no-objects --no-normalise", "match --no-integrity --no-keep-going --no-learn"):
        name, *flags = words.split()
        assert set(flags) <= {
            one for argument in command(name).assemble_argument_collection() for one in argument.names
        }
    assert "--no-json" not in command("match").assemble_argument_collection()[-1].names


def test_help_is_for_the_command_line() -> None:
    for name in COMMANDS:
        assert "Python" not in "".join(one.help for one in commands.told(COMMANDS[name]))
    assert "('test',)" not in invoke("build", "vcr", "--help").stdout


def test_a_dataclass_or_its_fields(tmp_path: Path) -> None:
    share = {"train": 1.0}
    one = veridical.build("nlvr", tmp_path / "a", presentations=2, split=share, hide=[], processes=1)
    options = NLVROptions(presentations=2, split=share, hide=())
    two = veridical.build("nlvr", tmp_path / "b", options=options, processes=1)
    assert one.counts == two.counts
    files = [(tmp_path / name / "items-main-train.parquet").read_bytes() for name in "ab"]
    assert files[0] == files[1]
    with pytest.raises(TypeError, match="did you mean 'split'"):
        veridical.build("nlvr", tmp_path / "c", splits=share)


def test_what_nobody_uses_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="A table has no use for --keep-going"):
        refuse_unused("A table", {"folds"}, MatchOptions(folds=3, keep_going=True))
    veridical.build("nlvr", tmp_path / "b", presentations=2, split={"dev": 1.0}, hide=[], processes=1)
    (tmp_path / "run").mkdir()
    for words, unused in (
        (("majority", "--temperature", 1), "--temperature"),
        (("majority", "--temperature", 0.0), "--temperature"),  # its default
        (("random", "--from", "structure"), "--from"),
        (("random", "--from", "pixels"), "--from"),
        ((tmp_path / "run", "--blind"), "--blind"),
        (("openai/x", "--weights", "w"), "--weights"),
    ):
        done = invoke("solve", words[0], tmp_path / "b", "--out", tmp_path / "p.jsonl", *words[1:])
        assert done.exit_code == 2
        assert f"has no use for {unused}" in done.stderr
    for words in (("--source", "icons", "--detector", "x"), ("--threshold", 0.9), ("--threshold", 0.5)):
        assert invoke("build", "nlvr2", "--out", tmp_path / "c", *words).exit_code == 2


def test_options_know_what_was_given(tmp_path: Path) -> None:
    assert given_names(NLVROptions()) == set()
    assert given_names(NLVROptions(seed=3)) == {"seed"}
    made = given(given(NLVROptions(seed=3), {"presentations": 3962}), {"licence": ""})
    assert made == NLVROptions(seed=3)
    assert given_names(made) == {"seed", "presentations", "licence"}
    (tmp_path / "o.json").write_text('{"sets": 10, "seed": 4}')
    assert read_config(tmp_path / "o.json", NLVR2Options(sets=5)) == NLVR2Options(sets=5, seed=4)
    assert read_config(tmp_path / "o.json", given(NLVR2Options(), {"sets": None})) == NLVR2Options(seed=4)
    (tmp_path / "qa.csv").write_text("question,answer\nwho?,me\n")
    done = invoke("match", tmp_path / "qa.csv", "--out", tmp_path / "m", "--sweep", "0.1,1", "--lambda", "0.3")
    assert (done.exit_code, "Leave --lambda out" in done.stderr) == (2, True)


def test_quiet_leaves_the_environment_of_others_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VERIDICAL_PROGRESS", "1")
    monkeypatch.delenv("VERIDICAL_QUIET", raising=False)

    def models() -> ResultList[str]:
        monkeypatch.setenv("OTHERS", "kept")  # a library of the verb's room does so
        assert os.environ["VERIDICAL_QUIET"] == "1"
        return ResultList()

    monkeypatch.setitem(VERBS, "models", models)
    assert invoke("models", "--quiet").exit_code == 0
    assert (os.environ["OTHERS"], os.environ["VERIDICAL_PROGRESS"]) == ("kept", "1")
    assert "VERIDICAL_QUIET" not in os.environ


def test_results_go_to_stdout_and_remarks_to_stderr(tmp_path: Path) -> None:
    words = ("build", "nlvr", "--presentations", 2, "--split", "dev=1", "--hide", "dev", "--processes", 1)
    done = invoke(*words, "--out", tmp_path / "a")
    assert "items, dev" in done.stdout
    assert "Built:" in done.stderr
    assert "Built:" not in done.stdout
    quiet = invoke(*words, "--out", tmp_path / "b", "--quiet")
    assert "items, dev" in quiet.stdout
    assert quiet.stderr == ""
    printed = invoke(*words, "--out", tmp_path / "c", "--json", "--quiet")
    assert printed.stdout.startswith("{")
    assert printed.stderr == ""


def test_mistakes_are_one_line_with_what_was_meant() -> None:
    done = invoke("solve", "majority", "b", "--splitt", "dev")
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr == "veridical: Unknown option: --splitt.\n  Did you mean --split?\n"
    assert "Did you mean" in invoke("evalute", "b").stderr
    assert invoke("match", "qa.csv").stderr.startswith("veridical: ")
    assert "--set epochs=3" in invoke("train", "text", "b", "--out", "run", "--epochs", "3").stderr
    assert invoke("models", "film", "--what").stderr.endswith("See `veridical models --help`.\n")


@pytest.mark.parametrize(
    "words",
    [
        ("evaluate", "B", "a", "b", "--split", "dev"),
        ("evaluate", "B", "a", "--split", "dev", "b"),
        ("evaluate", "B", "--split", "dev", "a", "b"),
        ("evaluate", "--split", "dev", "B", "a", "b"),
        ("evaluate", "B", "--split=dev", "--against", "x", "a", "--official", "b", "--json"),
        ("report", "B", "a", "--out", "x", "b"),
        ("report", "--out", "x", "B", "a", "b"),
        ("report", "B", "--out", "x", "a", "--benchmark", "y", "b"),
    ],
)
def test_several_files_stand_before_between_and_after_options(
    words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    told: dict[str, Any] = {}

    def verb(**given: Any) -> Result:
        told.update(given)
        return ResultList()

    verb.__signature__ = inspect.signature(VERBS[words[0]])  # type: ignore[attr-defined]
    verb.__doc__, made = VERBS[words[0]].__doc__, VERBS[words[0]]
    monkeypatch.setattr("veridical.cli.commands.told", lambda _, known=commands.told(made): known)
    monkeypatch.setitem(VERBS, words[0], verb)
    assert invoke(*words).exit_code == 0
    files = [told["benchmark"], *told["predictions"]] if words[0] == "evaluate" else told["runs"]
    assert files == [Path("B"), Path("a"), Path("b")]


def test_several_files_are_at_least_one() -> None:
    assert "Usage: veridical evaluate [OPTIONS] BENCHMARK PREDICTIONS...\n" in invoke("evaluate", "--help").stdout
    assert invoke("evaluate", "B").stderr.startswith("veridical: ")
    assert invoke("evaluate", "B").exit_code == 2


def test_a_whole_number_is_not_rounded(tmp_path: Path) -> None:
    for words in (("build", "nlvr", "--presentations", "2.7"), ("build", "nlvr2", "--sets", "1e3")):
        done = invoke(*words, "--out", tmp_path / "b")
        assert (done.exit_code, done.stdout) == (2, "")
        assert done.stderr == f"veridical: {words[2]} is {words[3]!r}.\n  Give a whole number, such as 100.\n"
    assert "--seed is '1.5'" in invoke("evaluate", "B", "p", "--seed", "1.5").stderr


def test_shells_complete_options() -> None:
    script = root().generate_completion(shell="bash")
    assert "--presentations" in script
    assert "--model-base-url" in script


def test_one_name_is_a_list_of_one_and_not_of_its_letters(tmp_path: Path) -> None:
    split = {"train": 0.5, "dev": 0.5}
    veridical.build("nlvr", tmp_path / "made", presentations=4, split=split, hide="dev", processes=1)
    assert Benchmark(tmp_path / "made").manifest["hidden"] == ["dev"]
    found = veridical.audit(tmp_path / "made", out=None, check="label", processes=1)
    assert [finding.check for finding in found.findings] == ["label"]


def test_settings_of_a_model_are_named_where_they_belong(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"no option 'epochs'; a model's own is given as set=\{'epochs'"):
        veridical.train("text-lstm", tmp_path / "none", out=tmp_path / "run", epochs=1)


def test_options_are_named_in_one_place() -> None:
    import veridical.options
    from veridical.options import building, running

    made = [value for room in (building, running) for value in vars(room).values()]
    groups = {one.__name__ for one in made if isinstance(one, type) and is_dataclass(one)}
    assert groups <= set(veridical.options.__all__)
    assert veridical.options.NLVROptions is NLVROptions
