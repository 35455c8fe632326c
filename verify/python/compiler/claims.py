# SPDX-License-Identifier: MIT
"""The claims of an image (docs/record-format.md), checked and converted to values of Triton. They come from a candidate's
process."""

import collections
import json
import keyword
import re
import sys
import types

import triton.language as tl
import triton.runtime.jit as jit

import hardened
from kernel_text import FromText
from refusal import Refused, brief

VERSION = 1
FUNCTIONS_MAX = 256
DEPTH_MAX = 16
INTEGER_BITS = 128
FIELDS = {"kgb_ttir", "functions", "types", "constants", "attrs", "options"}
SCALAR_TYPE = r"(?:[iu](?:1|8|16|32|64)|fp(?:16|32|64)|bf16|fp8e(?:4nv|5|4b15|4b8|5b16)|void)"
TYPE = re.compile(r"constexpr|nvTmaDesc|\*k?%s|%s|tensordesc<%s\[\d{1,7}(?:, ?\d{1,7}){0,4}\]>" % ((SCALAR_TYPE,) * 3))
OPTIONS = {
    "num_warps": int, "num_stages": int, "num_ctas": int, "maxnreg": int, "debug": bool, "sanitize_overflow": bool,
    "enable_fp_fusion": bool, "launch_cooperative_grid": bool, "launch_pdl": bool, "default_dot_input_precision": str,
}
OPTION_MOST = 1 << 16
FLOATS = {"inf": float("inf"), "-inf": float("-inf"), "nan": float("nan")}
TORCH_DTYPES = ("bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32",
                "float64", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "complex64", "complex128")
IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,255}", re.ASCII)


class TorchDtype:
    """Stands for a torch.dtype, which a kernel can only compare."""

    def __init__(self, name):
        self.name = name

    def __repr__(self):
        return "torch." + self.name


TORCH = {name: TorchDtype(name) for name in TORCH_DTYPES}


def is_list_of(value, length):
    return type(value) is list and len(value) == length


def identifier(value):
    if type(value) is not str or not IDENTIFIER.fullmatch(value) or keyword.iskeyword(value):
        raise Refused("a claim names %s" % brief(value))
    return value


def objects(value, kinds, what):
    """Return the value if it is an object with these kinds of members: {name: (type, whether it is required)}."""
    if type(value) is not dict or not kinds.keys() >= value.keys() or any(
            required and name not in value for name, (_, required) in kinds.items()) or any(
            type(part) is not kinds[name][0] for name, part in value.items()):
        raise Refused("a claim of %s is broken" % what)
    return value


def no_constant(name):
    raise Refused("the claims contain the number %s" % name)


def parsed(line):
    try:
        claims = json.loads(line, parse_constant=no_constant)
    except (ValueError, RecursionError) as error:
        raise Refused("the claims are no JSON: %s" % error) from None
    if type(claims) is not dict or claims.keys() != FIELDS or claims["kgb_ttir"] != VERSION:
        raise Refused("the claims have other fields than version %d" % VERSION)
    return claims


class ClaimedFunction(jit.ConstexprFunction):
    """A constexpr_function of kernel.py: a call returns the result that is claimed for it."""

    def __init__(self, name):
        self.__name__ = self.__qualname__ = name
        self.__module__, self.rows = "kernel", []
        self._fn_name = "kernel." + name
        self.hash, self.used_global_vals = "", {}

    @property
    def cache_key(self):
        return self._fn_name

    def __hash__(self):
        return id(self)

    def __eq__(self, other):
        return self is other

    def __call__(self, *args, _semantic=None, **kwargs):
        key = call_key(args, kwargs)
        for known, result in self.rows:
            if known == key:
                return tl.constexpr(result)
        hardened.refuse("no result is claimed for this call of the constexpr function %s" % brief(self.__name__))


def call_key(args, kwargs):
    """A key for the arguments of a call, by their types and values."""
    return [exact(arg) for arg in args], {name: exact(arg) for name, arg in kwargs.items()}


def exact(value):
    while isinstance(value, tl.constexpr):
        value = value.value
    if isinstance(value, (tuple, list, tl.tuple)):
        return "tuple", [exact(part) for part in value]
    if isinstance(value, (jit.JITCallable, types.ModuleType)):
        return "object", id(value)
    return type(value).__name__, repr(value)


class Claims:
    """The claims of one image of one kernel.py. `kernel` is the function that is launched."""

    def __init__(self, text, line):
        claims = parsed(line)
        self.without_attrs = json.dumps({**claims, "attrs": None})
        self.functions = self.declared(text, claims["functions"])
        for fn, claim in zip(self.functions, claims["functions"]):
            self.complete(fn, claim, fn is self.functions[0])
        self.kernel = self.functions[0]
        self.types = self.types_of(claims["types"])
        self.constants = self.constants_of(claims["constants"])
        self.attrs = self.attrs_of(claims["attrs"])
        self.options = self.options_of(claims["options"])

    # ---- functions ----

    def declared(self, text, claims):
        if type(claims) is not list or not 0 < len(claims) <= FUNCTIONS_MAX:
            raise Refused("the claims list no functions, or more than %d" % FUNCTIONS_MAX)
        made = []
        for claim in claims:
            if type(claim) is dict and "answers" in claim:
                objects(claim, {"name": (str, True), "line": (int, True), "answers": (list, True)}, "a function")
                made.append(ClaimedFunction(identifier(claim["name"])))
                continue
            objects(claim, {"name": (str, True), "line": (int, True), "names": (dict, True), "defaults": (dict, False),
                            "noinline": (bool, False), "symbol": (str, False)}, "a function")
            made.append(FromText(text, identifier(claim["name"]), claim["line"]))
        if type(made[0]) is not FromText:
            raise Refused("the claims launch a constexpr function")
        return made

    def complete(self, fn, claim, is_kernel):
        if type(fn) is ClaimedFunction:
            fn.rows = [self.answer(row) for row in claim["answers"]]
            return
        if "symbol" in claim and not is_kernel or "defaults" in claim and is_kernel:
            raise Refused("a claim of a function is broken")
        symbol = identifier(claim["symbol"]) if "symbol" in claim else None
        fn.complete(self.those(claim["names"]), self.those(claim.get("defaults", {})), claim.get("noinline"), symbol)

    def answer(self, row):
        if not is_list_of(row, 3) or type(row[0]) is not list or type(row[1]) is not dict:
            raise Refused("a claim of a constexpr function is broken")
        return call_key(list(map(self.value, row[0])), self.those(row[1])), self.value(row[2])

    def those(self, claims):
        return {identifier(name): self.value(claim) for name, claim in claims.items()}

    # ---- values ----

    def value(self, claim, depth=0):
        kind = type(claim)
        if depth > DEPTH_MAX:
            raise Refused("a claim has more than %d levels" % DEPTH_MAX)
        if claim is None or kind in (bool, float, str):
            return claim
        if kind is int:
            if claim.bit_length() > INTEGER_BITS:
                raise Refused("a claim has an integer of more than %d bits" % INTEGER_BITS)
            return claim
        if kind is list:
            return tuple(self.value(part, depth + 1) for part in claim)
        if kind is dict and claim.keys() == {"module", "values"}:
            return self.other_module(claim["module"], claim["values"], depth + 1)
        if kind is dict and len(claim) == 1:
            (name, content), = claim.items()
            made = self.MAKERS.get(name)
            if made:
                return made(self, content, depth + 1)
        raise Refused("a claim has a value that cannot be: %s" % brief(claim))

    def float_of(self, content, _):
        if type(content) is not str or content not in FLOATS:
            raise Refused("a claim has the number %s" % brief(content))
        return FLOATS[content]

    def constexpr_of(self, content, depth):
        return tl.constexpr(self.value(content, depth))

    def dtype_of(self, content, _):
        known = tl.dtype.SINT_TYPES + tl.dtype.UINT_TYPES + tl.dtype.FP_TYPES + tl.dtype.OTHER_TYPES
        if type(content) is not str or content not in known:
            raise Refused("a claim has the type %s" % brief(content))
        return tl.dtype(content)

    def pointer_of(self, content, depth):
        if not is_list_of(content, 3) or type(content[1]) is not int or not 0 <= content[1] <= 8 or type(content[2]) is not bool:
            raise Refused("a claim of a pointer is broken")
        element = self.value(content[0], depth)
        if not isinstance(element, tl.dtype):
            raise Refused("a claim of a pointer is broken")
        return tl.pointer_type(element, content[1], content[2])

    def torch_of(self, content, _):
        if type(content) is not str or content not in TORCH:
            raise Refused("a claim has the type %s of torch" % brief(content))
        return TORCH[content]

    def function_of(self, content, _):
        if type(content) is not int or not 0 <= content < len(self.functions):
            raise Refused("a claim has a function that is not listed")
        return self.functions[content]

    def module_of(self, content, _):
        if type(content) is not str or content not in hardened.MODULES:
            raise Refused("a claim has the module %s" % brief(content))
        return sys.modules[content]

    def other_module(self, name, values, depth):
        if type(name) is not str or name in hardened.MODULES or type(values) is not dict:
            raise Refused("a claim has the module %s" % brief(name))
        module = types.ModuleType(name)
        for attribute, claim in values.items():
            if attribute.startswith("__"):
                raise Refused("a claim names %s" % brief(attribute))
            setattr(module, identifier(attribute), self.value(claim, depth))
        hardened.CLAIMED.append(module)
        return module

    def library_of(self, content, _):
        if not is_list_of(content, 2) or not all(type(part) is str for part in content) or content[0] not in hardened.MODULES:
            raise Refused("a claim has the function %s" % brief(content))
        value = vars(sys.modules[content[0]]).get(identifier(content[1]))
        if value is None or isinstance(value, types.ModuleType) or not hardened.of_library(value):
            raise Refused("a claim has the function %s" % brief(content))
        return value

    def tuple_class(self, name, fields, defaults):
        if type(fields) is not list or len(set(map(identifier, fields))) != len(fields) or any(
                field.startswith("_") for field in fields):
            raise Refused("a claim of a named tuple is broken")
        try:
            return collections.namedtuple(identifier(name), fields, defaults=defaults)
        except (TypeError, ValueError):
            raise Refused("a claim of a named tuple is broken") from None

    def namedtuple_of(self, content, depth):
        if not is_list_of(content, 3) or type(content[1]) is not list or not is_list_of(content[2], len(content[1])):
            raise Refused("a claim of a named tuple is broken")
        return self.tuple_class(content[0], content[1], ())(*(self.value(part, depth) for part in content[2]))

    def namedtuple_class_of(self, content, depth):
        if not is_list_of(content, 3) or type(content[2]) is not dict:
            raise Refused("a claim of a named tuple is broken")
        fields, defaults = content[1], {name: self.value(part, depth) for name, part in content[2].items()}
        if type(fields) is not list or list(defaults) != fields[len(fields) - len(defaults):]:
            raise Refused("a claim of a named tuple is broken")
        return self.tuple_class(content[0], fields, list(defaults.values()))

    def list_of(self, content, depth):
        if type(content) is not list:
            raise Refused("a claim of a list is broken")
        return [self.value(part, depth) for part in content]

    MAKERS = {"float": float_of, "constexpr": constexpr_of, "dtype": dtype_of, "pointer": pointer_of, "torch": torch_of,
              "function": function_of, "module": module_of, "library": library_of, "namedtuple": namedtuple_of,
              "namedtuple_class": namedtuple_class_of, "list": list_of}

    # ---- the launch ----

    def types_of(self, claims):
        names = [row[0] for row in claims if is_list_of(row, 2)] if type(claims) is list else None
        if names != self.kernel.arg_names or len(names) != len(claims):
            raise Refused("the types are not those of the kernel's parameters")
        return {name: self.type_of(claim, 0) for name, claim in claims}

    def type_of(self, claim, depth):
        if type(claim) is str and TYPE.fullmatch(claim):
            return claim
        if depth < DEPTH_MAX and type(claim) is list:
            return tuple(self.type_of(part, depth + 1) for part in claim)
        if depth < DEPTH_MAX and type(claim) is dict and claim.keys() == {"tuple"} and is_list_of(claim["tuple"], 3):
            name, fields, parts = claim["tuple"]
            if type(parts) is list and type(fields) is list and len(parts) == len(fields):
                return self.tuple_class(name, fields, ())(*(self.type_of(part, depth + 1) for part in parts))
        raise Refused("a parameter cannot have the type %s" % brief(claim))

    def parameters(self):
        """The paths of all types in the types that are no tuples and no constants."""
        open_ = [((i,), kind) for i, kind in enumerate(self.types.values())]
        for path, kind in open_:
            if isinstance(kind, tuple):
                open_ += [((*path, i), part) for i, part in enumerate(kind)]
            elif kind != "constexpr":
                yield path

    def places(self, claims, what):
        """{path: content} of a list of pairs. Each path leads to a type."""
        if type(claims) is not list or not all(is_list_of(row, 2) for row in claims):
            raise Refused("the claims of %s are broken" % what)
        found = {}
        for path, content in claims:
            place = tuple(self.types.values())
            if type(path) is not list or not path:
                raise Refused("a place of %s is broken" % what)
            for step in path:
                if type(step) is not int or not isinstance(place, tuple) or not 0 <= step < len(place):
                    raise Refused("a place of %s is none of the kernel's parameters" % what)
                place = place[step]
            found[tuple(path)] = place, content
        return found

    def constants_of(self, claims):
        found = self.places(claims, "constants")
        if any(kind != "constexpr" for kind, _ in found.values()) or sum(map(count_constants, self.types.values())) != len(found):
            raise Refused("the constants are not those that the types announce")
        return {path: self.value(content) for path, (_, content) in found.items()}

    def attrs_of(self, claims):
        found = self.places(claims, "attributes")
        if any(content != [["tt.divisibility", 16]] for _, content in found.values()):
            raise Refused("a parameter has another attribute than a divisibility by 16")
        return {path: content for path, (_, content) in found.items()}

    def options_of(self, claims):
        if type(claims) is not dict:
            raise Refused("the options are no object")
        for name, value in claims.items():
            if type(value) is not OPTIONS.get(name) or type(value) is int and not 0 < value <= OPTION_MOST:
                raise Refused("the option %s is %s" % (brief(name), brief(value)))
        if claims.get("launch_pdl"):
            raise Refused("the option launch_pdl starts the kernel before the one in front of it has ended, and no kernel may wait: "
                          "leave it out")
        return claims


def count_constants(kind):
    return sum(map(count_constants, kind)) if isinstance(kind, tuple) else kind == "constexpr"
