"""Figures of ORCH: orchestrated scheduling and partitioning of L1 TLBs."""
