"""Builds a GPU from a model and applications: the one place where components are wired."""

from gpusim.machine.domains import Domain, Part, divide
from gpusim.machine.machine import Machine
from gpusim.machine.memory_system import MemorySystem
from gpusim.machine.tenants import FirstRun, Tenant

__all__ = ["Domain", "FirstRun", "Machine", "MemorySystem", "Part", "Tenant", "divide"]
