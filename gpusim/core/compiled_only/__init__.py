"""What is used where gpusim is compiled alone: it needs `librt`, the runtime library of mypyc.

A pure Python installation lacks that library, so that these modules are imported below
``if MYPYC`` alone (`gpusim.core.unboxed`).
"""
