"""`veridical solve`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from veridical.cli.output import print_json, say, table

if TYPE_CHECKING:
    from veridical.solvers.vlm.run import ModelDetails


def solve(
    solver: Annotated[
        str, typer.Argument(help="programs, majority, random, a run folder, or provider/model (openai/gpt-4o, hf/...).")
    ],
    benchmark: Annotated[Path, typer.Argument(help="A benchmark folder.")],
    split: Annotated[str, typer.Option(help="The split to solve.")] = "dev",
    out: Annotated[Path, typer.Option(help="Where the predictions go.")] = Path("predictions.jsonl"),
    scheme: Annotated[str, typer.Option(help="The scheme of splits.")] = "main",
    limit: Annotated[int | None, typer.Option(help="Solve only the first items.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the random solver, and of --context.")] = 0,
    context: Annotated[
        str, typer.Option(help="Trained models of matrices: own, or a control: other (of another item) or shuffled.")
    ] = "own",
    source: Annotated[
        str, typer.Option("--from", help="Programs read the scene from its structure, or from pixels.")
    ] = "structure",
    weights: Annotated[Path | None, typer.Option(help="Programs: a saved solver; otherwise trained on train.")] = None,
    save_weights: Annotated[
        Path | None, typer.Option(help="Programs: where to keep the trained solver, for --weights.")
    ] = None,
    trial: Annotated[str, typer.Option(help="Trained models: which trial of the run, by number or name.")] = "0",
    device: Annotated[str, typer.Option(help="Trained models: cpu, cuda, cuda:1 ...")] = "cpu",
    views: Annotated[str, typer.Option(help="NLVR: the first drawing of each item, or all.")] = "first",
    blind: Annotated[bool, typer.Option("--blind", help="Models: send no pictures.")] = False,
    layout: Annotated[
        str | None, typer.Option(help="Models: pictures separate, or together (pair side by side, matrix as a grid).")
    ] = None,
    answers: Annotated[str, typer.Option(help="Models: auto, truth (true/false) or letter.")] = "auto",
    reasoning: Annotated[bool, typer.Option("--reasoning", help="Models: ask for steps before the answer.")] = False,
    boxes: Annotated[str, typer.Option(help="VCR's objects: drawn, coordinates or none.")] = "drawn",
    rationales: Annotated[
        str, typer.Option(help="VCR: all (given each answer), predicted (a fifth of the rationale requests), or none.")
    ] = "all",
    wordings: Annotated[int, typer.Option(help="Models: how many wordings of the prompt.")] = 1,
    orders: Annotated[int, typer.Option(help="Models: how many orders of the candidates.")] = 1,
    model_base_url: Annotated[str | None, typer.Option(help="Any OpenAI-compatible server.")] = None,
    model_arg: Annotated[
        list[str] | None, typer.Option("-M", "--model-arg", help="NAME=VALUE for the provider; may be repeated.")
    ] = None,
    max_connections: Annotated[int, typer.Option(help="Requests at the same time.")] = 10,
    max_retries: Annotated[int, typer.Option(help="Retries of a request that failed.")] = 5,
    timeout: Annotated[int | None, typer.Option(help="Seconds for one attempt of a request.")] = None,
    max_tokens: Annotated[int | None, typer.Option(help="Longest reply; 64, or 2,048 with --reasoning.")] = None,
    temperature: Annotated[float, typer.Option(help="Of sampling.")] = 0.0,
    logprobs: Annotated[
        bool | None, typer.Option(help="Ask for log-probabilities; left out: where the provider should give them.")
    ] = None,
    batch: Annotated[bool, typer.Option("--batch", help="Use the provider's batch API (cheaper, slower).")] = False,
    price: Annotated[
        tuple[float, float] | None, typer.Option(help="Dollars per million input and output tokens.")
    ] = None,
    logs: Annotated[Path | None, typer.Option(help="Inspect's logs; left out: OUT.logs.")] = None,
    log_images: Annotated[bool, typer.Option(help="Keep the pictures in the logs, for `inspect view`.")] = True,
    json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
) -> None:
    """Answer the items of a split: one prediction per line, tied to the benchmark by its hash.

    Models are asked through Inspect AI. Stopped or killed, the same command continues: every answer is on disk before
    the next request, so at most the requests in flight (--max-connections, or with --batch the open batches) are paid
    twice.
    Exit code 0: everything was answered. 1: some requests failed for good; run again to ask them. 2: bad input.
    """
    from veridical.options import Asking, Generating, Sending, SolverOptions
    from veridical.solvers.programs import Coverage
    from veridical.solvers.solve import solve
    from veridical.solvers.vlm.run import ModelDetails

    words: dict[str, Any] = {"source": one_of("--from", source, ("structure", "pixels"))}
    words["context"] = one_of("--context", context, ("own", "other", "shuffled"))
    options = SolverOptions(
        seed=seed,
        weights=weights,
        save_weights=save_weights,
        trial=int(trial) if trial.isdigit() else trial,
        device=device,
        **words,
    )
    chosen: dict[str, Any] = {"layout": layout, "answers": answers, "boxes": boxes}
    chosen |= {"rationales": rationales, "views": views}
    asking = Asking(reasoning=reasoning, wordings=wordings, orders=orders, blind=blind, **chosen)
    sending = Sending(
        model_base_url=model_base_url,
        model_arg=parse_args(model_arg) if model_arg else None,
        max_connections=max_connections,
        max_retries=max_retries,
        timeout=timeout,
        batch=batch,
        logs=logs,
        log_images=log_images,
        price=price,
    )
    generating = Generating(max_tokens, temperature, logprobs)
    try:
        done = solve(
            solver,
            benchmark,
            split=split,
            out=out,
            scheme=scheme,
            limit=limit,
            options=options,
            asking=asking,
            sending=sending,
            generating=generating,
        )
    except KeyboardInterrupt:  # typer ends the program itself, without a word
        say("veridical: stopped. Run the same command again to continue.")
        raise
    if json:
        print_json(done.to_json())
    say(f"{done.predictions:,} predictions for {split} in {done.out}.")
    if isinstance(done.details, Coverage):
        read = done.details.figures()
        say(f"{_percent(read['coverage'])} of {read['sentences']:,} sentences were read as programs.")
        say(f"{_percent(read['fallback_share'])} of {read['answers']:,} answers come from the fallback.")
    elif isinstance(done.details, ModelDetails):
        show(done.details)
        if done.details.unanswered:
            raise typer.Exit(1)


def one_of(name: str, value: str, choices: tuple[str, ...]) -> str:
    """A value that must be one of a few words."""
    from veridical.errors import UserError

    if value not in choices:
        raise UserError(f"{name} is {value!r}.", f"Choose one of: {', '.join(choices)}.")
    return value


def parse_args(args: list[str]) -> dict[str, object]:
    """NAME=VALUE pairs; values that are JSON (numbers, true, false) are taken as such.

    >>> parse_args(["device=cpu", "batch_size=4"])
    {'device': 'cpu', 'batch_size': 4}
    """
    import msgspec

    from veridical.errors import UserError

    out: dict[str, object] = {}
    for arg in args:
        name, equals, value = arg.partition("=")
        if not equals or not name:
            raise UserError(f"-M {arg!r} is not NAME=VALUE.", "Write for example -M device=cpu.")
        try:
            out[name] = msgspec.json.decode(value)
        except msgspec.DecodeError:
            out[name] = value
    return out


def show(done: ModelDetails) -> None:
    """What people should know about a run of a model."""
    s = done.summary
    if done.resumed:
        say(f"{done.resumed:,} answers were there already and were not asked again.")
    why = ", ".join(f"{reason} {count:,}" for reason, count in sorted(s.reasons.items()))
    say(f"{s.unreadable:,} of {s.asked:,} answers could not be read{f' ({why})' if why else ''}.")
    if s.accuracy.value is not None:
        say(f"{s.accuracy.value:.1%} right of {s.accuracy.of:,} with a known answer; unreadable ones count as wrong.")
    cost = "" if s.cost is None else f", ${s.cost:,.4f} for {s.priced:,} answers"
    say(f"{s.tokens['input']:,} tokens in, {s.tokens['output']:,} out{cost}.")
    if len(s.by_variant) > 1:
        rows = [(name, _percent(rate.value), f"{rate.of:,}") for name, rate in s.by_variant.items()]
        table("Accuracy by wording and order", ["variant", "accuracy", "answers"], rows)
        numbers = s.to_json()
        for name in ("wordings", "orders"):
            if "std" in numbers[name]:
                say(f"Over {name}: mean {_percent(numbers[name]['mean'])}, deviation {_percent(numbers[name]['std'])}.")
    for rate, what in ((s.flipped, "order of the candidates"), (s.reworded, "wording")):
        if rate is not None:
            say(f"{rate.count:,} of {rate.of:,} items ({_percent(rate.value)}) change their answer with the {what}.")
    if s.positions:
        cells = [(p.place, *(_percent(r.value) for r in (p.chosen, p.right, p.accuracy))) for p in s.positions]
        table("Position bias", ["place", "chosen", "right answer there", "accuracy"], cells)
    if done.unanswered:
        say(f"{done.unanswered:,} questions were not answered: {done.error}. Run the same command again to ask them.")


def _percent(value: float | None) -> str:
    return "" if value is None else f"{value:.1%}"
