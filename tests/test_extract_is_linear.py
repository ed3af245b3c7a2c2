r"""Extraction reads any text in time linear in its length.

No seconds are measured: a process gets a limit of CPU time that a linear reading uses a twentieth of, and that
anything worse exceeds a thousandfold on texts this long.
"""

import subprocess
import sys

LENGTH = 2_000_000
LIMIT_S = 120

SHAPES = {
    "openings": ("<answer>", ""),
    "closings": ("</answer>", ""),
    "openings before closings": ("<answer>", "</answer>"),
    "closings before openings": ("</answer>", "<answer>"),
    "empty pairs": ("<answer></answer>", ""),
    "blank pairs": ("<answer> \n </answer>", ""),
    "full pairs": ("<answer>5</answer>", ""),
    "torn openings": ("<answer", ""),
    "torn closings": ("</answer", ""),
    "angles": ("<", ">"),
    "thoughts": ("<think>", ""),
    "thoughts before their ends": ("<think>", "</think>"),
    "ends of thoughts": ("</think>", ""),
    "closed thoughts": ("<think></think>", ""),
    "boxes": ("\\boxed{", ""),
    "boxes in boxes": ("\\boxed{", "}"),
    "blank boxes in boxes": ("\\boxed{ ", " }"),
    "full boxes in boxes": ("\\boxed{a", "b}"),
    "boxes side by side": ("\\boxed{5}", ""),
    "blank boxes side by side": ("\\boxed{ }", ""),
    "boxes without braces": ("\\boxed", ""),
    "boxes before blanks": ("\\boxed", " "),
    "blanks between boxes": ("\\fbox \n", ""),
    "braces": ("{", ""),
    "braces in pairs": ("{", "}"),
    "escaped braces": ("\\{", "\\}"),
    "backslashes": ("\\", "{"),
    "labels": ("Answer:", ""),
    "newlines": ("\n", ""),
    "blanks": (" ", "x"),
    "wide blanks": ("\u2003", ""),
}
"""Two pieces: the first fills one half of a text, the second the other; without a second the first fills both."""

_LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_CPU, ({limit}, {limit}))
{code}
"""

_EXTRACTING = f"""
from rgsupport.extract import lenient, strict
for name, (first, second) in {SHAPES!r}.items():
    half = {LENGTH} // 2
    text = first * (half // len(first)) + (second or first) * (half // len(second or first))
    strict(text, thinking=False)
    lenient(text, thinking=False, cut=False)
    lenient("</think>" + text, thinking=True, cut=False)
    print(name)
"""

_UPSTREAMS_PATTERN = r"""
import re
list(re.finditer(r"<answer>\s?(.*?)\s?</answer>", "<answer>" * 250_000, re.DOTALL))
print("finished")
"""


def finished(code, *, limit_s):
    """Run a program within a limit of CPU seconds; return the lines it printed and whether the limit ended it."""
    program = _LIMITED.format(limit=limit_s, code=code)
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert not run.stderr
    return run.stdout.split("\n")[:-1], run.returncode < 0


def test_two_megabytes_of_any_hostile_shape_are_read_within_two_minutes_of_computing():
    shapes, was_ended = finished(_EXTRACTING, limit_s=LIMIT_S)
    assert shapes == list(SHAPES)
    assert not was_ended


def test_the_limit_ends_the_pattern_of_reasoning_gym_on_a_text_of_openings():
    # Without this one, the test above might have a limit that ends nothing.
    lines, was_ended = finished(_UPSTREAMS_PATTERN, limit_s=2)
    assert lines == []
    assert was_ended
