/* SPDX-License-Identifier: MIT */
/** \file
 * One concrete case: an interface with the shapes, strides and literal values of its arguments, but
 * without data (verify/fills/fill.h generates data anew for each verification).
 */
#ifndef KGB_VERIFY_CASES_CASE_H
#define KGB_VERIFY_CASES_CASE_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"
#include "verify/fills/arg.h"
#include "verify/spec/spec.h"

/** Append a value in Python's notation: "0.5", "100.0", "complex(0.5, -1.0)", "None", "[0, 1]",
 * "torch.float16". */
void kgb_case_value_describe(const struct kgb_case_value *value, struct kgb_buf *out);

/** The name in specs and in the hash of benchmarks: "normal". */
const char *kgb_fill_name(enum kgb_fill_kind fill);

/** Torch's mode of gradients while a candidate runs. */
enum kgb_grad_mode {
	KGB_GRAD_ENABLED, /* as torch starts */
	KGB_GRAD_DISABLED, /* under torch.no_grad */
	KGB_GRAD_INFERENCE, /* under torch.inference_mode */
};

/** Floating tensors as tensors whose gradient torch computes: those that the call only reads, and
 * leaves also if it changes them under torch.no_grad. */
enum kgb_gradient {
	KGB_GRADIENT_NONE,
	KGB_GRADIENT_LEAF, /* as weights */
	KGB_GRADIENT_RESULT, /* as results of an operator */
};

/** Which type torch gives to a new floating tensor whose type is not named. */
enum kgb_default_type {
	KGB_DEFAULT_FLOAT32, /* as torch starts */
	KGB_DEFAULT_FLOAT16,
	KGB_DEFAULT_BFLOAT16,
	KGB_DEFAULT_FLOAT64,
	KGB_N_DEFAULT_TYPES
};

/** Who calls, as torch answers a kernel.py that asks. Nothing is compiled or traced. */
enum kgb_caller {
	KGB_CALLER_PYTHON,
	KGB_CALLER_COMPILED, /* below torch.compile */
	KGB_CALLER_EXPORTED, /* below torch.export, which is_dynamo_compiling does not count */
	KGB_CALLER_TRACED, /* below torch.jit.trace */
};

/** How candidates are called. */
struct kgb_call_style {
	bool leaves_out_defaults; /* without arguments that are the schema's default */
	bool passes_names; /* arguments by name, but for tensors before all others */
	bool passes_tuples; /* lists as tuples */
	bool passes_parameters; /* floating tensors as torch.nn.Parameter */
	enum kgb_gradient gradient;
	enum kgb_grad_mode grad_mode;
	enum kgb_default_type default_type;
	enum kgb_caller caller;
	bool without_asserts; /* of a kernel.py that is compiled as "python -OO" does */
};

struct kgb_case {
	const char *name; /* "add_Tensor/float32/tail_1000/standard" */
	const struct kgb_interface *interface;
	const struct kgb_case_vars *line; /* borrowed from the spec */
	enum kgb_dtype dtype;
	enum kgb_mode mode;
	enum kgb_tier tier; /* CORE or EDGE */
	bool is_drawn; /* from a template, by the seed */
	struct kgb_call_style style;
	const struct kgb_case_vars *model; /* of a twin: the line of the drawn case from which it
					      differs in an argument; NULL: none */
	struct kgb_arg args[KGB_MAX_ARGS];
	size_t n_args;
};

/** Append the arguments, as "self=float32[1000], other=float32[1000], alpha=0.5, out=<contiguous
 * output buffer>"; "other=self" where one tensor is both; then how the call differs from others,
 * as "; under torch.no_grad()". */
void kgb_case_describe(const struct kgb_case *c, struct kgb_buf *out);
/** Only the arguments that differ from those of another case of the same interface; NULL: all. */
void kgb_case_describe_unlike(const struct kgb_case *c, const struct kgb_case *other,
			      struct kgb_buf *out);
/** Append the parts of "(a,b,c)", as specs write arguments. Returns -1 for any other form. */
int kgb_split_args(const char *text, struct kgb_strv *out);
/** Append the properties that determine a benchmark's time: its sizes, strides, fills and values.
 * Two cases with the same text take the same time. */
void kgb_case_identify(const struct kgb_case *c, struct kgb_buf *out);
/** Whether a call changes the storage of argument i. */
bool kgb_case_changes(const struct kgb_case *c, size_t i);
/** Whether argument i is passed to candidates as a tensor whose gradient torch computes. */
bool kgb_case_has_gradient(const struct kgb_case *c, size_t i);
/** Whether argument number i is passed to candidates by name. */
bool kgb_case_names_arg(const struct kgb_case *c, size_t i);
/** Elements of all input tensors: a rough measure of the case's cost. */
int64_t kgb_case_elements(const struct kgb_case *c);
/** Whether the modes `outlier` and `special` change elements that the result depends on. */
bool kgb_case_follows_mode(const struct kgb_case *c);
/** Whether an argument has parts that a call must not read. */
bool kgb_case_has_read_mask(const struct kgb_case *c);

#endif
