"""Models as data: the schema, their units, and how TOML becomes a checked `GpuConfig`.

The rooms of the machine import `schema`, `dram`, `policy` and `units` alone; `load` stands above
them, because it knows which policies there are.
"""
