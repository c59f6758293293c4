"""What demand paging costs: ``gpusim study paging [--doc docs/paging.md]``."""
