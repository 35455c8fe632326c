# SPDX-License-Identifier: MIT
"""Compares a spec's description of an interface with the schema that it gives and, for operators of ATen, with the one that
torch has registered under that name.

A description: "operator", "source", "entry", "schema", "target" (null if the reference is a Python function), "params":
[{"name", "kind": "tensor", "out" or "value", "keyword", "list", "written", "absent"}] as a caller passes them, "returned": for
each returned result the name of the parameter that holds it, null for a fresh one, and "nones": number of further results, of
None.
"""

import re

import torch

GENERATOR = "generator"
NAMESPACE = "aten::"


def parsed(text):
    """The parsed schema. Signatures of vLLM and cuBLAS contain Python's names dtype and None, which are replaced."""
    text = re.sub(r"\bdtype(\??) (?=\w)", r"ScalarType\1 ", text)
    return torch._C.parse_schema(NAMESPACE + re.sub(r"-> None$", "-> ()", text))


def registered(name):
    base, _, overload = name.partition(".")
    packet = getattr(torch.ops.aten, base, None)
    function = getattr(packet, overload or "default", None) if packet else None
    return function._schema if function else None


def check_registered(asked, schema):
    name = asked["schema"].partition("(")[0]
    known = registered(name)
    if known is None:
        yield "torch has no operator aten::%s" % name
    elif known != schema:
        yield "torch has registered %s" % str(known)[len(NAMESPACE):]
    if asked["target"] and asked["target"] != name:
        yield "the reference is %s" % asked["target"]
    if asked["operator"] != schema.name:
        yield "the schema is that of %s" % schema.name


def is_written(argument):
    return bool(argument.alias_info and argument.alias_info.is_write)


def kinds_of(argument):
    """The types of values that may be passed for a parameter."""
    text = str(argument.type)
    if "Tensor" not in text:
        return ("value",)
    optional = text.startswith("Optional")  # None is a value
    return ("tensor", "out", "value") if optional else ("tensor", "out")


def check_argument(param, argument):
    name = param["name"]
    if param["keyword"] != argument.kwarg_only:
        yield "%s is %s by name in the schema" % (name, "passed" if argument.kwarg_only else "not passed")
    if param["kind"] not in kinds_of(argument):
        yield "%s is %s in the schema" % (name, argument.type)
    if param["list"] != ("List[" in str(argument.type) and "Tensor" in str(argument.type)):
        yield "%s is %s in the schema" % (name, argument.type)
    if param["written"] and not argument.alias_info:
        yield "%s holds a result, but the schema does not say that it is written to or returned" % name
    if is_written(argument) and not param["written"] and param["kind"] != "value" and not param["absent"]:
        yield "%s is written to in the schema, but holds no result" % name


def check_returns(asked, schema):
    """Each result of the schema is fresh, or the argument that the schema names; a list may be of any length."""
    returns = schema.returns
    holders = asked["returned"] + [None] * asked["nones"]
    if len(returns) == 1 and str(returns[0].type).startswith("List["):
        return
    if len(holders) != len(returns):
        yield "the schema returns %d results, the spec %d" % (len(returns), len(holders))
        return
    for number, (holder, value) in enumerate(zip(holders, returns)):
        alias = value.alias_info
        holders_of = [a.name for a in schema.arguments if alias and a.alias_info and a.alias_info.before_set & alias.before_set]
        if holders_of and holder not in holders_of and alias.is_write:
            if not any(param["name"] in holders_of and param["absent"] for param in asked["params"]):
                yield "result %d is %s in the schema" % (number, holders_of[0])
        if holder and holder not in holders_of:
            yield "result %d is %s, but fresh in the schema" % (number, holder)


def called(param, schema):
    """The parameter's name in the schema: a seed is passed instead of a generator."""
    takes_generator = any(argument.name == GENERATOR for argument in schema.arguments)
    return GENERATOR if param["name"] == "seed" and takes_generator else param["name"]


def problems(asked):
    try:
        schema = parsed(asked["schema"])
    except RuntimeError as error:
        return ["it is no schema: %s" % str(error).strip().partition("\n")[0]]
    found = list(check_registered(asked, schema)) if asked["source"] == "aten" else []
    full_name = schema.name.partition("::")[2] + ("_" + schema.overload_name if schema.overload_name else "")
    if asked["entry"] != full_name:
        found.append("its function should be called %s" % full_name)
    names = [called(param, schema) for param in asked["params"]]
    passed = [argument for argument in schema.arguments if argument.name in names or not argument.has_default_value()]
    wanted = [argument.name for argument in passed]
    if names != wanted:
        return found + ["parameters are (%s), in the schema (%s)" % (", ".join(names), ", ".join(wanted))]
    for param, argument in zip(asked["params"], passed):
        if argument.name != GENERATOR:
            found += check_argument(param, argument)
    return found + list(check_returns(asked, schema))
