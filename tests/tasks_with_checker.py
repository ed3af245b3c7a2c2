"""The tasks that have a checker of their own."""

from rgsupport.registry import PAPER_TASKS

CHECKED = (*PAPER_TASKS, "syllogism")
