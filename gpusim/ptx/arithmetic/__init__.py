"""What arithmetic instructions compute, by kind."""
