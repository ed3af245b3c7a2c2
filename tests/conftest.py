"""Settings of every test."""

from hypothesis import settings

# A slow or busy machine is no failure, and the same tests run everywhere.
settings.register_profile("rgsupport", deadline=None, derandomize=True, database=None)
settings.load_profile("rgsupport")
