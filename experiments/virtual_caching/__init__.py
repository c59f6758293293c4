"""Figures of VC: `python -m experiments.virtual_caching.fig09`, or `gpusim reproduce vc.fig9`."""
