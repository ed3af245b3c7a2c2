"""The command line: parse, call one pipeline function, print. Heavy imports wait until a command needs them."""

import os
import sys
from typing import Annotated, Any, NoReturn

import typer

from rgsupport.errors import RgsupportError, UsageError
from rgsupport.options import (
    AllowUnequal,
    Api,
    Base,
    BatchSize,
    Config,
    Device,
    Dtype,
    EngineName,
    EngineOptions,
    ExcludeSuspect,
    Gpus,
    Json,
    Ks,
    Logprobs,
    MaxTokens,
    Out,
    Pilot,
    Plan,
    Problems,
    Prompt,
    Rlvr,
    RunFolder,
    Samples,
    Seed,
    Server,
    Set,
    Tasks,
    Temperature,
    TensorParallel,
    TopP,
    Workers,
)

# Typer has a copy of click, or uses the installed one, depending on its version; this is the error of the right one.
_PARSING_ERROR: Any = next(base for base in typer.BadParameter.__mro__ if base.__name__ == "ClickException")

_INTERRUPTED = 130

app = typer.Typer(
    help="Did RLVR training preserve, expand or shrink what a language model can solve?",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
tasks_app = typer.Typer(help="List the tasks, or show one.", invoke_without_command=True, rich_markup_mode=None)
app.add_typer(tasks_app, name="tasks")


@app.command()
def run(
    tasks: Tasks = None,
    k: Ks = None,
    base: Base = None,
    rlvr: Rlvr = None,
    problems: Problems = None,
    samples: Samples = None,
    seed: Seed = None,
    temperature: Temperature = None,
    top_p: TopP = None,
    max_tokens: MaxTokens = None,
    prompt: Prompt = None,
    set_: Set = None,
    logprobs: Logprobs = None,
    engine: EngineName = None,
    gpus: Gpus = None,
    tensor_parallel: TensorParallel = None,
    workers: Workers = None,
    server: Server = None,
    api: Api = None,
    device: Device = None,
    dtype: Dtype = None,
    batch_size: BatchSize = None,
    engine_option: EngineOptions = None,
    allow_unequal: AllowUnequal = None,
    exclude_suspect: ExcludeSuspect = False,
    out: Out = None,
    config: Config = None,
    plan: Plan = False,
    pilot: Pilot = False,
) -> None:
    """Generate, sample, verify, analyze and report; the same command again resumes."""
    from rgsupport import pipeline, settings, store

    if pilot and not plan:
        msg = "--pilot belongs to --plan: `run --plan --pilot` samples 1% of the plan and says what the rest will cost"
        raise UsageError(msg)

    given = {
        "tasks": tasks, "k": k, "base": base, "rlvr": rlvr, "problems": problems, "samples": samples, "seed": seed,
        "temperature": temperature, "top_p": top_p, "max_tokens": max_tokens, "prompt": prompt,
        "logprobs": logprobs,
        "engine": engine, "gpus": gpus, "tensor_parallel": tensor_parallel, "workers": workers, "server": server,
        "api": api, "device": device, "dtype": dtype, "batch_size": batch_size, "allow_unequal": allow_unequal,
        "exclude_suspect": exclude_suspect or None, "out": None if out is None else str(out),
    }  # fmt: skip
    file = {} if config is None else settings.read_file(config)
    asked = settings.resolve(
        _default_pair(file, given), file, given, _params(file, set_), _engine_options(file, engine_option)
    )
    directory = store.Run(pipeline.run_directory(asked))
    with directory.locked():
        if plan:
            _print_forecast(pipeline.plan(directory, asked, _watcher(), pilot=pilot))
            return
        pipeline.run(directory, asked, _watcher())
    _print_tables(directory)


@app.command()
def generate(
    folder: RunFolder, tasks: Tasks = None, problems: Problems = None, seed: Seed = None, set_: Set = None
) -> None:
    """Freeze the problems of a run."""
    from rgsupport import pipeline, settings, store

    directory = store.Run(folder)
    given = {"tasks": tasks, "problems": problems, "seed": seed}
    asked = settings.resolve(_stored(directory), given, _params({}, set_))
    with directory.locked():
        pipeline.generate(directory, asked, _watcher())
    count = store.planned_problems(directory.problems(), directory.record().plan).height
    typer.echo(f"{count} problems of {', '.join(directory.record().plan.tasks)} are in {folder / 'problems.parquet'}")


@app.command()
def sample(
    folder: RunFolder,
    k: Ks = None,
    base: Base = None,
    rlvr: Rlvr = None,
    samples: Samples = None,
    temperature: Temperature = None,
    top_p: TopP = None,
    max_tokens: MaxTokens = None,
    prompt: Prompt = None,
    logprobs: Logprobs = None,
    engine: EngineName = None,
    gpus: Gpus = None,
    tensor_parallel: TensorParallel = None,
    workers: Workers = None,
    server: Server = None,
    api: Api = None,
    device: Device = None,
    dtype: Dtype = None,
    batch_size: BatchSize = None,
    engine_option: EngineOptions = None,
    allow_unequal: AllowUnequal = None,
) -> None:
    """Sample both models on the problems of a run, as far as samples are missing."""
    from rgsupport import pipeline, settings, store

    directory = store.Run(folder)
    directory.record()
    given = {
        "k": k, "base": base, "rlvr": rlvr, "samples": samples, "temperature": temperature, "top_p": top_p,
        "max_tokens": max_tokens, "prompt": prompt, "logprobs": logprobs,
        "engine": engine, "gpus": gpus, "tensor_parallel": tensor_parallel, "workers": workers, "server": server,
        "api": api, "device": device, "dtype": dtype, "batch_size": batch_size, "allow_unequal": allow_unequal,

    }  # fmt: skip
    stored = _stored(directory)
    if k is not None and samples is None:
        stored.pop("samples", None)
    if engine is not None and engine != stored.get("engine"):
        for name in ("engine", "server", "api"):
            stored.pop(name, None)
    asked = settings.resolve(_default_pair(stored, given), stored, given, _engine_options({}, engine_option))
    with directory.locked():
        pipeline.sample(directory, asked, _watcher())
    typer.echo(f"{asked.samples} samples of each problem and model are in {folder / 'completions'}")


@app.command()
def verify(folder: RunFolder) -> None:
    """Give every sample of a run its verdicts, as far as they are missing."""
    from rgsupport import pipeline, store

    directory = store.Run(folder)
    directory.record()
    with directory.locked():
        count = pipeline.verify(directory, _watcher())
    typer.echo(f"{count} responses verified; the verdicts are in {folder / 'verdicts'}")


@app.command()
def analyze(folder: RunFolder, k: Ks = None, exclude_suspect: ExcludeSuspect = False) -> None:
    """Compute the result tables of a run and print them."""
    from rgsupport import pipeline, settings, store

    directory = store.Run(folder)
    record = directory.record()
    ks = record.plan.ks if k is None else settings.resolve(_stored(directory), {"k": k}).ks
    with directory.locked():
        pipeline.analyze(directory, _watcher(), ks=ks, exclude_suspect=exclude_suspect)
    _print_tables(directory)


@app.command()
def report(folder: RunFolder) -> None:
    """Write the result tables of a run as Markdown, LaTeX and CSV, and print them."""
    from rgsupport import pipeline, store

    directory = store.Run(folder)
    directory.record()
    with directory.locked():
        pipeline.report(directory)
    _print_tables(directory)


@app.command()
def doctor(
    base: Base = None,
    rlvr: Rlvr = None,
    engine: EngineName = None,
    gpus: Gpus = None,
    server: Server = None,
    api: Api = None,
    out: Out = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Look at everything a run needs, and say what to do about each problem; exit code 1 if there is one."""
    from rgsupport.doctor import as_json, examine, print_checks, understand
    from rgsupport.settings import read_file

    file = {} if config is None else read_file(config)
    given = {"base": base, "rlvr": rlvr, "engine": engine, "gpus": gpus, "server": server, "api": api, "out": out}
    asked = understand(file | {key: value for key, value in given.items() if value is not None})
    os.environ["HF_HUB_OFFLINE"] = "1"  # looking must not download
    if json:
        checks = list(examine(asked))
        typer.echo(as_json(checks))
        is_well = not any(check.level == "problem" for check in checks)
    else:
        is_well = print_checks(_console(), examine(asked))
    if not is_well:
        raise typer.Exit(1)


@app.command()
def audit(
    tasks: Tasks = None, problems: Problems = None, seed: Seed = None, set_: Set = None, json: Json = False
) -> None:
    """Ask the verifiers of tasks, of all if none is named, what they accept; exit code 1 if a named one is unsound."""
    from rgsupport import audit as audits
    from rgsupport import registry, settings
    from rgsupport.stages.generate import USER_TASKS

    names = [task.name for task in registry.list_tasks(USER_TASKS)] if tasks is None else [tasks]
    asked = settings.resolve({"tasks": ",".join(names), "problems": problems, "seed": seed}, _params({}, set_))
    wanted = audits.Wanted(
        names=registry.expand(asked.tasks),
        params=asked.params,
        user_folder=USER_TASKS,
        problems=asked.problems,
        seed=asked.seed,
    )
    found: list[audits.Audited] = []
    for audited in audits.audit(wanted, _watcher(), workers=os.cpu_count() or 1):
        found.append(audited)
        if not json:
            audits.print_audited(_console(), audited)
    if json:
        typer.echo(audits.as_json(found))
    else:
        audits.print_summary(_console(), found)
    if tasks is not None and any(item.judgement.verdict is audits.Verdict.UNSOUND for item in found):
        raise typer.Exit(1)


@tasks_app.callback()
def tasks(context: typer.Context) -> None:
    """List the tasks: name, source, category, parameters, the paper's class."""
    if context.invoked_subcommand is None:
        from rgsupport.listing import print_tasks

        print_tasks(_console())


@tasks_app.command()
def show(name: Annotated[str, typer.Argument(help="A task.")], set_: Set = None, seed: Seed = None) -> None:
    """Print an example question of a task, its reference and its parameters."""
    from rgsupport.listing import print_task

    print_task(_console(), name, params=_params({}, set_)["params"], seed=45 if seed is None else seed)


def main() -> None:
    """Run the command line; exit code 2 for a user's mistake, 1 for a failure, 130 after Ctrl-C."""
    try:
        code = app(standalone_mode=False)
    except _PARSING_ERROR as error:
        _fail(error.format_message(), 2)
    except RgsupportError as error:
        _fail(str(error), error.exit_code)
    except (KeyboardInterrupt, typer.Abort):
        _stopped()
    except BrokenPipeError:  # the reader of our output, such as head, has gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except OSError as error:  # a path too long, a folder that may not be read
        _fail(f"{error.strerror or error}: {str(error.filename or '')[:200]}", 1)
    if code == _INTERRUPTED:  # how a newer typer tells of Ctrl-C
        _stopped()
    sys.exit(code if isinstance(code, int) else 0)


def _stopped() -> NoReturn:
    _fail("stopped; a run keeps what was finished, and the same command goes on", _INTERRUPTED)


def _fail(message: str, code: int) -> NoReturn:
    print(f"rgsupport: {' '.join(message.split())}", file=sys.stderr)  # noqa: T201 - the one line a user's mistake gets
    sys.exit(code)


def _params(file: dict[str, Any], assignments: list[str] | None) -> dict[str, Any]:
    from rgsupport.settings import parse_params

    params: dict[str, dict[str, object]] = {task: dict(values) for task, values in file.get("params", {}).items()}
    for task, values in parse_params(assignments or []).items():
        params.setdefault(task, {}).update(values)
    return {"params": params}


def _engine_options(file: dict[str, Any], assignments: list[str] | None) -> dict[str, Any]:
    from rgsupport.settings import parse_engine_options

    return {"engine_options": {**file.get("engine_options", {}), **parse_engine_options(assignments or [])}}


def _stored(directory: Any) -> dict[str, Any]:  # noqa: ANN401 - a store.Run, whose import is heavy
    """Return what a stage command takes over from the run: everything that is not named anew."""
    if not directory.exists:
        return {}
    from dataclasses import asdict

    record = directory.record()
    stored: dict[str, Any] = {
        "tasks": list(record.plan.tasks),
        "problems": record.plan.problems,
        "seed": record.seed,
        "prompt": record.prompt,
        **(asdict(record.sampling) if record.sampling else {}),
        **{role: "@".join(filter(None, (model.name, model.revision))) for role, model in record.models.items()},
    }
    stored |= {"allow_unequal": list(record.allow_unequal), **_stored_engine(record)}
    if record.plan.ks:
        stored |= {"k": list(record.plan.ks), "samples": record.plan.samples}
    return stored


def _stored_engine(record: Any) -> dict[str, Any]:  # noqa: ANN401 - a store.Record
    """Return the engine that a run was sampled with, as settings."""
    facts = [model.facts for model in record.models.values() if model.facts]
    if not facts:
        return {}
    engine = {"engine": facts[0]["engine"]}
    if engine["engine"] == "openai":
        engine |= {"api": facts[0]["api"], "server": list(dict.fromkeys(known["server"] for known in facts))}
    return engine


def _default_pair(*given: dict[str, Any]) -> dict[str, Any]:
    """Return the models to take where neither of these layers names one, and say which they are."""
    if any(layer.get(role) is not None for layer in given for role in ("base", "rlvr")):
        return {}
    from rgsupport.models import describe_default
    from rgsupport.pipeline import default_pair

    engine = next((layer["engine"] for layer in reversed(given) if layer.get("engine")), None)
    pair = default_pair(engine)
    typer.echo(describe_default(pair))
    return {**pair}


def _console() -> Any:  # noqa: ANN401 - a rich Console, imported when something is printed
    from rich.console import Console

    return Console(highlight=False, width=None if sys.stdout.isatty() else 100)


def _watcher() -> Any:  # noqa: ANN401 - a watch.Terminal
    from rich.console import Console

    from rgsupport.watch import Terminal

    return Terminal(Console(stderr=True))


def _print_forecast(forecast: Any) -> None:  # noqa: ANN401 - a planning.Forecast
    from rgsupport.forecast import print_forecast

    print_forecast(_console(), forecast)


def _print_tables(directory: Any) -> None:  # noqa: ANN401 - a store.Run
    from rgsupport import pipeline
    from rgsupport.report import build_report, print_report

    print_report(build_report(*pipeline.read_analysis(directory)), _console())


__all__ = ["app", "main"]
