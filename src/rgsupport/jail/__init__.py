"""Score answers in worker processes with hard limits: verifiers run a model's text, several of them through `eval`.

Each worker is a fresh Python (spawned, never forked) in its own session and process group, in an empty directory that
it may not write, with an environment that holds no secrets, no terminal and no descriptors but its two pipes. Its
memory, files and processor time are limited, it is killed with its whole group when one answer takes too long, and it
dies with its parent. While an answer is scored it may not start processes or threads, send signals, open files for
writing or use the network: Python's audit hooks refuse that with an error that names it, and on Linux the kernel
refuses it whatever code asks, by Landlock and seccomp (`protections` tells what holds on a machine). What a worker
sends is read as bounded fixed records and never unpickled.

What is not promised: where the kernel does not help, on macOS and old Linux, the hooks stop code that a verifier
evaluates by accident, not an attacker who knows Python's internals; and everywhere code that runs in a worker can forge
the results of that worker.
"""

from rgsupport.jail._jail import Jail
from rgsupport.jail._protections import Protections, protections
from rgsupport.jail._wire import MAX_ANSWER, Ask, Job, Result, Specification

__all__ = ["MAX_ANSWER", "Ask", "Jail", "Job", "Protections", "Result", "Specification", "protections"]
