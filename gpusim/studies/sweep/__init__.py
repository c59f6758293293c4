"""Many runs: a plan, an executor, and a folder that survives."""
