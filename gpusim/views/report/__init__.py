"""A run as one HTML page, which any browser shows without a network."""

from gpusim.views.report.build import html_report, write_report

__all__ = ["html_report", "write_report"]
