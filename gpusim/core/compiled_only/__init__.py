"""What is used where gpusim is compiled, and nowhere else: it needs `librt`, mypyc's runtime library.

A pure Python installation lacks that library, so that these modules are imported below
``if MYPYC`` alone (`gpusim.core.unboxed`).
"""
