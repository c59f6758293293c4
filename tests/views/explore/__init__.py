"""The page that a run is explored on."""
