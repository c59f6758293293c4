"""Models of GPUs that people own, held against what was measured on those GPUs.

``gpusim study hardware --model v100 --reference FOLDER`` runs the microbenchmarks on a
model and draws our curves over the measured ones; without a reference, our curves alone.
"""
