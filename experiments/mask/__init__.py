"""Figures of MASK: `python -m experiments.mask.fig11`, or `gpusim reproduce mask.fig11`."""
