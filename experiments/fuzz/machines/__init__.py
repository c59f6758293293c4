"""Random models, recipes, programs and options of runs, looked at from outside."""
