import io

from rich.console import Console

from rgsupport.watch import Silent, Terminal


def terminal():
    return Console(file=io.StringIO(), force_terminal=True, width=120, color_system=None)


def test_a_stage_shows_samples_and_tokens_done_and_expected_and_the_time_left():
    console = terminal()
    with Terminal(console).stage("sampling base", total=1000, unit="samples") as bar:
        bar.advance(250, 5000)
    shown = console.file.getvalue()
    assert "sampling base" in shown
    assert "250/1,000 samples" in shown
    assert "5.0k of about 20.0k tokens" in shown
    assert "ETA" in shown


def test_a_stage_without_tokens_shows_none():
    console = terminal()
    with Terminal(console).stage("verifying", total=10, unit="responses") as bar:
        bar.advance(10)
    assert "tokens" not in console.file.getvalue()


def test_off_a_terminal_only_the_notes_appear():
    console = Console(file=io.StringIO(), force_terminal=False)
    watcher = Terminal(console)
    with watcher.stage("sampling base", total=10, unit="samples") as bar:
        bar.advance(1, 1)
    watcher.note("[bold]as it is[/bold]")
    assert console.file.getvalue() == "[bold]as it is[/bold]\n"


def test_the_silent_watcher_takes_everything():
    watcher = Silent()
    watcher.note("nothing")
    with watcher.stage("sampling", total=1, unit="samples") as bar:
        bar.advance(1)
