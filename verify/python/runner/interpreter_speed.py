# SPDX-License-Identifier: MIT
"""Makes Triton's interpreter compute values once that it computes at every operation and launch: half the time of most kernels.
These values do not change while the process lives: which functions of triton.language a launch replaces,
NumPy's type for an element type, what a shape of constants is as a value of the language. Shapes are never changed in
place, so tensors share them.
"""

import dataclasses
import functools
import inspect

import numpy as np
import triton.language as tl
import triton.runtime.interpreter as interpreter

ADDRESS = np.dtype(np.uint64)


def patched_from_list(function):
    """A launch replaces the builtins of these; the search for them costs more than the replacement."""
    lists = {package: [(name, member) for name, member in inspect.getmembers(package) if tl.core.is_builtin(member)]
             for package in (tl, tl.core, tl.tensor, tl.math, tl.core.tensor_descriptor_base)}

    def patch(package, builder, scope):
        if package not in lists:
            return function(package, builder, scope)
        for name, member in lists[package]:
            interpreter._patch_attr(package, name, member, builder, scope)

    return patch


def patched_once(function):
    """A launch replaces the language's functions until it ends; functions that its kernel calls find them replaced. Replacing
    them again at each call would also invalidate Python's caches of the language's types."""
    launch, done = interpreter._LangPatchScope(), []

    def patch(fn):
        nonlocal launch, done
        languages = [value for value in fn.__globals__.values() if value is tl or value is tl.core]
        if not launch._changes:  # the last one has ended
            launch, done = function(fn), languages
            return launch
        if languages and all(language in done for language in languages):
            return interpreter._LangPatchScope()
        scope = function(fn)
        done += languages
        return scope

    return patch


def remembered_dtype(function):
    known = {}

    def get(dtype):
        element = dtype.element_ty if isinstance(dtype, tl.block_type) else dtype
        if isinstance(element, tl.pointer_type):
            return ADDRESS
        found = known.get(element.name)
        if found is None:
            found = known[element.name] = function(element)
        return found

    return get


def plain_shape(shape):
    """A shape as a Python tuple of integers; None when something else is in it."""
    sizes = tuple(shape.values if type(shape) is tl.core.tuple else shape)
    for size in sizes:
        if type(size) is not int:
            return None
    return sizes


def remembered_block(function):
    known = {}

    def init(self, element_ty, shape):
        sizes = plain_shape(shape) if isinstance(shape, (list, tuple, tl.core.tuple)) else None
        found = known.get(sizes)
        if found is None:
            function(self, element_ty, shape)
            if sizes is not None:
                known[sizes] = self.shape, self.numel
        else:
            self.element_ty = element_ty
            self.shape, self.numel = found

    return init


def block_name(self):
    return "<%s, %s>" % (self.shape, self.element_ty)


def remembered_shape(function):
    known = {}

    def init(self, handle, type):
        sizes = plain_shape(type.shape) if type.is_block() else ()
        found = known.get(sizes)
        if found is None:
            function(self, handle, type)
            if sizes is not None:
                known[sizes] = self.numel, self.shape
        else:
            self.handle, self.type, self.dtype = handle, type, type.scalar
            self.numel, self.shape = found

    return init


def without_overflow_checks(builder):
    """Every addition, subtraction and multiplication of integers is repeated with 64 bits, for an assertion that only
    debug mode makes."""
    if not builder.options.debug:
        builder.options = dataclasses.replace(builder.options, sanitize_overflow=False)


def apply():
    """After everything else that changes triton.language."""
    without_overflow_checks(interpreter.interpreter_builder)
    interpreter._patch_builtin = patched_from_list(interpreter._patch_builtin)
    interpreter._patch_lang = patched_once(interpreter._patch_lang)
    interpreter._get_np_dtype = remembered_dtype(interpreter._get_np_dtype)
    tl.core.tensor.__init__ = remembered_shape(tl.core.tensor.__init__)
    tl.core.block_type.__init__ = remembered_block(tl.core.block_type.__init__)
    name = functools.cached_property(block_name)  # which the initializer would write; rarely read
    name.__set_name__(tl.core.block_type, "name")
    tl.core.block_type.name = name
