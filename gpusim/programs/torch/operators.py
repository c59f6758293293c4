"""Operators of PyTorch by what they do to memory."""

from __future__ import annotations

VIEWS = {
    "view", "_unsafe_view", "_reshape_alias", "reshape", "t", "transpose", "permute", "slice",
    "select", "expand", "unsqueeze", "squeeze", "detach", "alias", "split", "split_with_sizes",
    "unbind", "as_strided", "narrow", "unfold", "chunk", "lift_fresh", "empty", "empty_like",
    "empty_strided", "new_empty", "new_empty_strided", "resize_", "diagonal", "movedim", "flatten",
    "unsafe_split", "unsafe_split_with_sizes", "unsafe_chunk", "view_as_real", "view_as_complex",
    "_local_scalar_dense", "item", "real", "mT", "numpy_T", "swapaxes", "view_as",
}  # fmt: skip
"""They move nothing."""

FILLS = {
    "fill", "fill_", "zero_", "zeros", "zeros_like", "ones", "ones_like", "full", "full_like",
    "uniform_", "normal_", "bernoulli_", "random_", "exponential_", "arange", "new_zeros",
    "new_ones", "new_full", "scalar_tensor", "rand", "rand_like", "randn", "randn_like", "randint",
    "randint_like", "randperm", "eye", "linspace", "tril_indices", "triu_indices",
}  # fmt: skip
"""They write and read nothing."""

COPIES = {
    "copy_", "clone", "_to_copy", "contiguous", "dropout", "native_dropout", "triu", "tril", "flip",
    "roll",
}  # fmt: skip
"""They read and write each element once."""

LOOKUPS = {"embedding", "index_select"}
"""They read rows of a table by their numbers."""

REDUCTIONS = {
    "sum", "mean", "amax", "amin", "argmax", "argmin", "max", "min", "norm", "linalg_vector_norm",
    "any", "all", "prod", "nll_loss_forward", "mse_loss", "cumsum", "topk", "sort", "logsumexp",
    "nll_loss2d_forward", "smooth_l1_loss", "huber_loss", "binary_cross_entropy", "argsort",
    "nonzero", "count_nonzero", "bincount", "histc", "cumprod", "cummax", "cummin",
    "logcumsumexp", "kthvalue", "median", "multinomial", "_unique2", "unique_consecutive",
}  # fmt: skip
"""They read each element once, in rows."""

ROWS = {
    "_softmax": 3,
    "_log_softmax": 3,
    "_safe_softmax": 3,
    "_softmax_backward_data": 2,
    "_log_softmax_backward_data": 2,
    "native_layer_norm": 2,
    "native_layer_norm_backward": 2,
    "native_group_norm": 2,
    "native_group_norm_backward": 2,
    "_fused_rms_norm": 2,
    "_fused_rms_norm_backward": 2,
    "rms_norm": 2,
    "var_mean": 2,
    "var": 2,
    "std": 2,
}
"""They have a thread block a row, and read it so often."""

PRODUCTS = {"mm": 0, "bmm": 0, "addmm": 1, "baddbmm": 1, "matmul": 0, "linear": 0, "mv": 0}
"""Products, and which input is the left one."""

BATCH_NORMS = {
    "native_batch_norm", "_native_batch_norm_legit", "_batch_norm_with_update",
    "_native_batch_norm_legit_no_training", "native_batch_norm_backward", "batch_norm_backward",
}  # fmt: skip
"""They sum up each channel, and then change each element."""

ELEMENTWISE = {
    "nll_loss_backward", "nll_loss2d_backward", "mse_loss_backward", "smooth_l1_loss_backward",
    "huber_loss_backward", "binary_cross_entropy_backward", "hardswish", "hardswish_",
    "hardswish_backward", "hardsigmoid", "hardsigmoid_", "hardsigmoid_backward",
    "hardtanh_backward", "leaky_relu_backward", "elu_backward", "softplus_backward",
    "mish_backward", "log_sigmoid_forward", "log_sigmoid_backward", "masked_fill", "masked_fill_",
    "_prelu_kernel", "_prelu_kernel_backward",
}  # fmt: skip
"""Elements are made of those at their place, though PyTorch's tag does not say so."""

WINDOWS = (
    "max_pool", "avg_pool", "_adaptive_avg_pool", "adaptive_max_pool", "adaptive_avg_pool",
    "upsample_", "_upsample_nearest_exact",
)  # fmt: skip
"""Begins of operators whose results are made of windows, or of gradients of such."""

ATTENTION = {
    "scaled_dot_product_attention", "_scaled_dot_product_flash_attention_for_cpu",
    "_scaled_dot_product_flash_attention", "_scaled_dot_product_efficient_attention",
    "_scaled_dot_product_attention_math",
}  # fmt: skip

ATTENTION_BACKWARD = {
    "_scaled_dot_product_flash_attention_for_cpu_backward",
    "_scaled_dot_product_flash_attention_backward",
}

LISTS = ("_foreach_", "_fused_adam")
"""Begins of operators over lists of tensors: steps of optimizers."""

SILENT = ("_record_function", "profiler", "_assert", "is_", "sym_")
"""Begins of names of what is no work of a GPU."""
