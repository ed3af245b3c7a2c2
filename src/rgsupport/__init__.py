"""Tell whether RLVR training preserved, expanded or shrank what a language model can solve."""

from importlib.metadata import version

__version__ = version("rgsupport")
