# SPDX-License-Identifier: MIT
"""Torch's operators as its dispatcher has registered them."""

import re

import torch

# Operators that are registered like those that only call other operators, but read data themselves.
COMPUTING = re.compile("aten::(tensor_split|max_pool1d|choose_qparams_optimized|_rowwise_prune|_saturate_weight_to_fp16|"
                       "(fbgemm|_sobol_engine|quantized)_.*)")


def composite():
    """Names of operators that only call other operators, each of which is dispatched."""
    found, names = {}, torch._C._dispatch_get_registrations_for_dispatch_key("CompositeImplicitAutograd")
    names = frozenset(names)
    for name in torch._C._dispatch_get_all_op_names():
        base = name.partition(".")[0]
        found[base] = found.get(base, True) and name in names
    return frozenset(base for base, is_composite in found.items() if is_composite and not COMPUTING.fullmatch(base))


def names():
    """Names of all operators that are registered now, without overloads."""
    return frozenset(name.partition(".")[0] for name in torch._C._dispatch_get_all_op_names())
