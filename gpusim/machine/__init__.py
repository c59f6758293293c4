"""Builds a GPU from a model and applications: the one place where components are wired."""

from gpusim.core.module_folders import import_all
from gpusim.core.registry import import_when_asked
from gpusim.machine.domains import Domain, Part, divide
from gpusim.machine.machine import Machine
from gpusim.machine.memory_system import MemorySystem
from gpusim.machine.tenants import Tenant

__all__ = ["Domain", "Machine", "MemorySystem", "Part", "Tenant", "divide"]

POLICY_ROOMS = (
    "gpusim.core.replacement",
    *(f"gpusim.hardware.{room}" for room in ("cache", "dram", "sm", "tlb", "walk")),
)
"""Packages whose modules register policies: what lies in their folders is known by its name."""

RARE_POLICY_ROOMS = tuple(f"gpusim.hardware.{room}" for room in ("fbt", "node", "paging"))
"""Those whose policies most machines have none of."""

for room in POLICY_ROOMS:
    import_all(room)
import_when_asked(RARE_POLICY_ROOMS)
