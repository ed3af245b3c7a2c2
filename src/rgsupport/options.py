"""The options of the command line: what each is called, what it means, how its text is read."""

from pathlib import Path
from typing import Annotated

import typer


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        msg = f"{text!r} is not a whole number"
        raise typer.BadParameter(msg) from None


def _decimal(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        msg = f"{text!r} is not a number"
        raise typer.BadParameter(msg) from None


Tasks = Annotated[
    str | None,
    typer.Option("--tasks", metavar="NAMES", help="Names, comma-separated; 'paper' for the paper's fifteen."),
]
Ks = Annotated[
    str | None,
    typer.Option("--k", metavar="BUDGETS", help="Sampling budgets, comma-separated and increasing. [1,2,4,8,16]"),
]
Base = Annotated[
    str | None, typer.Option("--base", metavar="MODEL", help="Base model: a folder, or a hub name with @revision.")
]
Rlvr = Annotated[str | None, typer.Option("--rlvr", metavar="MODEL", help="RLVR-trained model, likewise.")]
Problems = Annotated[int | None, typer.Option("--problems", parser=_whole, metavar="N", help="Problems per task. [50]")]
Samples = Annotated[
    int | None,
    typer.Option("--samples", parser=_whole, metavar="N", help="Samples per problem and model. [the largest k]"),
]
Seed = Annotated[
    int | None,
    typer.Option("--seed", parser=_whole, metavar="N", help="Seed of the questions and of every sample. [45]"),
]
Temperature = Annotated[
    float | None, typer.Option("--temperature", parser=_decimal, metavar="X", help="Sampling temperature. [0.6]")
]
TopP = Annotated[
    float | None,
    typer.Option("--top-p", parser=_decimal, metavar="X", help="Nucleus of the sampling distribution. [0.95]"),
]
MaxTokens = Annotated[
    int | None, typer.Option("--max-tokens", parser=_whole, metavar="N", help="Most new tokens per response. [32768]")
]
Prompt = Annotated[
    str | None,
    typer.Option(
        "--prompt", metavar="NAME", help="System prompt: a name of Reasoning Gym's, 'none', or a text file. [default]"
    ),
]
Set = Annotated[
    list[str] | None, typer.Option("--set", metavar="ASSIGNMENT", help="TASK.PARAMETER=VALUE; may be repeated.")
]
Logprobs = Annotated[
    int | None,
    typer.Option(
        "--logprobs",
        parser=_whole,
        metavar="K",
        help="Keep each response's log-probability and bounds of its token entropy, from the top K tokens. [0: none]",
    ),
]
EngineName = Annotated[
    str | None, typer.Option("--engine", metavar="NAME", help="vllm, hf or openai. [vllm on a GPU, else hf]")
]
Gpus = Annotated[
    str | None, typer.Option("--gpus", metavar="LIST", help="GPUs to use, such as 0,1,2,3: a process on each.")
]
TensorParallel = Annotated[
    int | None, typer.Option("--tensor-parallel", parser=_whole, metavar="N", help="GPUs that share one model. [1]")
]
Workers = Annotated[
    int | None,
    typer.Option("--workers", parser=_whole, metavar="N", help="Processes per model where no GPUs are named. [1]"),
]
Server = Annotated[
    str | None,
    typer.Option("--server", metavar="URL", help="OpenAI-compatible server of both models; or two URLs: base,RLVR."),
]
Api = Annotated[
    str | None,
    typer.Option(
        "--api",
        metavar="NAME",
        help="What a server is asked: completions (with our prompt), or chat (it applies its template). [completions]",
    ),
]
EngineOptions = Annotated[
    list[str] | None,
    typer.Option(
        "--engine-option", metavar="ASSIGNMENT", help="NAME=VALUE for the engine, as the README lists; may be repeated."
    ),
]
AllowUnequal = Annotated[
    str | None,
    typer.Option(
        "--allow-unequal", metavar="NAMES", help="Facts in which the two models may differ, such as template."
    ),
]
ExcludeSuspect = Annotated[
    bool, typer.Option("--exclude-suspect", help="Leave questions that cannot be judged out of every table.")
]
Device = Annotated[
    str | None, typer.Option("--device", metavar="NAME", help="Device of the hf engine, such as cpu or cuda:1.")
]
Dtype = Annotated[
    str | None, typer.Option("--dtype", metavar="NAME", help="float32, bfloat16 or float16. [the model's on a GPU]")
]
BatchSize = Annotated[
    int | None, typer.Option("--batch-size", parser=_whole, metavar="N", help="Responses sampled at the same time.")
]
Out = Annotated[Path | None, typer.Option("--out", metavar="DIR", help="Run directory. [outputs/<base>--<rlvr>]")]
Plan = Annotated[
    bool, typer.Option("--plan", help="Sample nothing; say what is owed, what it will cost and what it can detect.")
]
Pilot = Annotated[
    bool,
    typer.Option("--pilot", help="With --plan: first sample 1% of the plan, which is kept, and measure it."),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Config = Annotated[
    Path | None, typer.Option("--config", metavar="FILE", help="TOML file of options; the command line wins over it.")
]
RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="Run directory.")]
