"""Settings of all tests."""

from hypothesis import settings

settings.register_profile("gpusim", deadline=None, derandomize=True, print_blob=False)
settings.load_profile("gpusim")
