"""`rgsupport audit`: can a task's verifier be trusted? Asked before GPU time is spent, answered task by task."""

from rgsupport.audit._audit import Audited, Wanted, audit
from rgsupport.audit._judge import Verdict
from rgsupport.audit._print import as_json, print_audited, print_summary

__all__ = ["Audited", "Verdict", "Wanted", "as_json", "audit", "print_audited", "print_summary"]
