"""The version of gpusim."""

__version__ = "0.1.0"
