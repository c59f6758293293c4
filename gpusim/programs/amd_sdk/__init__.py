"""Programs of the AMD APP SDK."""
