"""Studies of COMP: compression of address translations."""
