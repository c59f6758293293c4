"""What demand paging costs: ``python -m experiments.paging [--doc docs/paging.md]``."""
