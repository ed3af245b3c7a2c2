"""The straight line: generate, sample, verify, analyze, report. Each stage reads what the one before it wrote."""

from pathlib import Path

from rgsupport.models import find
from rgsupport.settings import Settings
from rgsupport.stages.analyze import analyze, read_analysis, report
from rgsupport.stages.generate import generate
from rgsupport.stages.sample import sample
from rgsupport.stages.verify import verify
from rgsupport.store import Run
from rgsupport.support import Analysis
from rgsupport.watch import Watcher

__all__ = ["analyze", "generate", "read_analysis", "report", "run", "run_directory", "sample", "verify"]


def run_directory(settings: Settings) -> Path:
    """Return where the run of these settings lies: a function of the two models, so that the same command resumes."""
    if settings.out is not None:
        return settings.out
    return Path("outputs") / "--".join(find(name).slug for name in (settings.base, settings.rlvr))


def run(directory: Run, settings: Settings, watcher: Watcher) -> Analysis:
    """Do every stage in a row; what an earlier command finished is taken as it is."""
    for name in (settings.base, settings.rlvr):
        find(name)  # a misspelt model is told before anything takes time
    generate(directory, settings, watcher)
    sample(directory, settings, watcher)
    verify(directory, watcher)
    analysis = analyze(directory, watcher, ks=settings.ks)
    report(directory)
    return analysis
