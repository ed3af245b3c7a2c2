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
Config = Annotated[
    Path | None, typer.Option("--config", metavar="FILE", help="TOML file of options; the command line wins over it.")
]
RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="Run directory.")]
