"""`rgsupport doctor`: look at everything a run needs, and say what to do about whatever is amiss.

Nothing is downloaded and no weights are loaded.
"""

from rgsupport.doctor._check import Check, Level
from rgsupport.doctor._examine import Asked, examine, understand
from rgsupport.doctor._print import as_json, print_checks

__all__ = ["Asked", "Check", "Level", "as_json", "examine", "print_checks", "understand"]
