"""Thread blocks that are executed without a clock, while TLBs and caches are kept warm."""
