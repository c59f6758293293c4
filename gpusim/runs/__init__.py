"""One run of a machine: what is timed, recorded, checked and written."""
