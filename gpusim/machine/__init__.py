"""Builds a GPU from a model and applications: the one place where components are wired."""

from gpusim.core.module_folders import import_all
from gpusim.machine.domains import Domain, Part, divide
from gpusim.machine.machine import Machine
from gpusim.machine.memory_system import MemorySystem
from gpusim.machine.tenants import Tenant

__all__ = ["Domain", "Machine", "MemorySystem", "Part", "Tenant", "divide"]

POLICY_ROOMS = (
    "gpusim.core.replacement",
    *(
        f"gpusim.hardware.{room}"
        for room in ("cache", "dram", "fbt", "node", "paging", "sm", "tlb", "walk")
    ),
)
"""Packages whose modules register policies: what lies in their folders is known by its name."""

for room in POLICY_ROOMS:
    import_all(room)
