"""Figures of MASK: `gpusim reproduce mask.fig11`."""
