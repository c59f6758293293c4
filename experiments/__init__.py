"""Scripts that answer questions with gpusim, one a figure or table."""
