"""The components of a GPU: one package for each, none of which imports another."""
