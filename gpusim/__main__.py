"""``python -m gpusim`` is ``gpusim``."""

from gpusim.cli.main import main

main()
