"""The straight line: generate, sample, verify, analyze, report. Each stage reads what the one before it wrote."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from rgsupport.errors import UsageError
from rgsupport.hardware import default_engine
from rgsupport.models import MINIATURE, PAPER
from rgsupport.settings import Settings
from rgsupport.stages.analyze import analyze, read_analysis, report
from rgsupport.stages.generate import generate
from rgsupport.stages.plan import plan
from rgsupport.stages.sample import models_of, sample
from rgsupport.stages.suspects import look
from rgsupport.stages.verify import verify
from rgsupport.store import Run
from rgsupport.support import Analysis
from rgsupport.types import ModelRole
from rgsupport.watch import Watcher

__all__ = [
    "analyze",
    "default_pair",
    "generate",
    "look",
    "plan",
    "read_analysis",
    "report",
    "run",
    "run_directory",
    "sample",
    "verify",
]


def default_pair(engine: str | None) -> dict[ModelRole, str]:
    """Return the models that are taken where none is named: the paper's pair where vLLM and a GPU are, else miniatures.

    Args:
        engine: Name of the engine asked for, if one was.
    """
    return PAPER if engine in (None, "vllm") and default_engine() == "vllm" else MINIATURE


def run_directory(settings: Settings) -> Path:
    """Return where the run of these settings lies: a function of the two models, so that the same command resumes."""
    if settings.out is not None:
        return settings.out
    return Path("outputs") / "--".join(model.slug for model in models_of(settings).values())


def run(directory: Run, settings: Settings, watcher: Watcher) -> Analysis:
    """Do every stage in a row; what an earlier command finished is taken as it is."""
    models_of(settings)  # a misspelt model is told before anything takes time
    with _keeping_plan(directory):
        generate(directory, settings, watcher)
        look(directory, watcher)
        sample(directory, settings, watcher)
    verify(directory, watcher)
    analysis = analyze(directory, watcher, ks=settings.ks, exclude_suspect=settings.exclude_suspect)
    report(directory)
    return analysis


@contextmanager
def _keeping_plan(directory: Run) -> Generator[None]:
    """Leave the plan on record as it was when what is asked for now is refused."""
    before = directory.record().plan if directory.exists else None
    try:
        yield
    except UsageError:
        if before is not None:
            directory.write_record(replace(directory.record(), plan=before))
        raise
