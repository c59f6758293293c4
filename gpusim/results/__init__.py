"""Results of runs: one HDF5 file each, its digest, and the way to read it back."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
