"""How a GPU works: one room a component, side by side, not knowing each other."""
