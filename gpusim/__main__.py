"""``python -m gpusim`` is ``gpusim``."""

from gpusim.cli.start import main

main()
