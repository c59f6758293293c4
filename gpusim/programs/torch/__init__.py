"""Operators of PyTorch as programs: what they access, on the addresses that their tensors had."""
