"""Figures of VC: `gpusim reproduce vc.fig9`."""
