/* SPDX-License-Identifier: MIT */
/** \file
 * Codes: one word for each end of a kernel, an attempt or an operator. Verdicts, results.json,
 * progress.json and the journal contain them; docs/codes.md is the output of `kgb-agent list
 * --codes`. Each row: enumerator, code, its status, the party at fault, whether the same is tried
 * AGAIN, and a sentence. */
#ifndef KGB_BASE_CODES_H
#define KGB_BASE_CODES_H

#include <stdbool.h>
#include <stddef.h>

/* clang-format off */
#define KGB_CODES(X) \
	/* Ends of an agent. */ \
	X(AGENT_OK, "agent.ok", NONE, NOBODY, FINAL, "The CLI finished and reported success.") \
	X(AGENT_LIMIT, "agent.limit", BUDGET, AGENT, FINAL, "The CLI reached its own limit of turns or money.") \
	X(AGENT_CONTEXT_FULL, "agent.context_full", FAILED, AGENT, FINAL, "The prompt or the conversation exceeded the model's context.") \
	X(AGENT_REFUSED, "agent.refused", FAILED, AGENT, FINAL, "The model refused the task.") \
	X(AGENT_TRUNCATED, "agent.truncated", FAILED, AGENT, FINAL, "The model's answer exceeded its output limit.") \
	X(AGENT_INTERRUPTED, "agent.interrupted", CANCELLED, USER, FINAL, "The CLI was interrupted and reported that.") \
	X(AGENT_TIMEOUT, "agent.timeout", TIMEOUT, AGENT, FINAL, "The attempt took longer than it may.") \
	X(AGENT_CANCELLED, "agent.cancelled", CANCELLED, USER, FINAL, "The user ended the run.") \
	X(AGENT_DISK, "agent.disk", FAILED, AGENT, FINAL, "The agent wrote more than it may.") \
	X(AGENT_MEMORY, "agent.memory", FAILED, AGENT, FINAL, "The agent used more memory than it may.") \
	X(AGENT_PROCESSES, "agent.processes", FAILED, AGENT, FINAL, "The agent started more processes than it may.") \
	X(AGENT_HUNG, "agent.hung", FAILED, AGENT, FINAL, "The agent gave no sign of life for too long.") \
	X(AGENT_KILLED, "agent.killed", FAILED, AGENT, FINAL, "A signal that kgb-agent did not send ended the CLI.") \
	X(AGENT_CRASHED, "agent.crashed", FAILED, AGENT, FINAL, "The CLI ended without its closing event.") \
	/* Files of an agent. */ \
	X(AGENT_NO_KERNEL, "agent.no_kernel", FAILED, AGENT, FINAL, "The agent left no kernel, or the stub that it was given.") \
	X(AGENT_KERNEL_MISSING, "agent.kernel_missing", FAILED, AGENT, FINAL, "kernel.py is missing.") \
	X(AGENT_KERNEL_TOO_LARGE, "agent.kernel_too_large", FAILED, AGENT, FINAL, "kernel.py is larger than a kernel may be.") \
	X(AGENT_KERNEL_SYMLINK, "agent.kernel_symlink", FAILED, AGENT, FINAL, "kernel.py is a symbolic link.") \
	X(AGENT_KERNEL_HARD_LINK, "agent.kernel_hard_link", FAILED, AGENT, FINAL, "kernel.py has another name on the disk.") \
	X(AGENT_KERNEL_NOT_REGULAR, "agent.kernel_not_regular", FAILED, AGENT, FINAL, "kernel.py is not a regular file.") \
	X(AGENT_KERNEL_UNREADABLE, "agent.kernel_unreadable", FAILED, AGENT, FINAL, "kernel.py cannot be read.") \
	/* Forbidden actions of an agent. */ \
	X(CHEAT_PROBE, "cheat.probe", NONE, AGENT, FINAL, "The agent tried something that the sandbox refuses. A note in the results; decides nothing.") \
	/* Providers of models. */ \
	X(PROVIDER_AUTH, "provider.auth", INFRA_ERROR, PROVIDER, FINAL, "The provider refused the key (401, 403).") \
	X(PROVIDER_CREDIT, "provider.credit", INFRA_ERROR, PROVIDER, FINAL, "The account has no credit or quota left (402).") \
	X(PROVIDER_UNKNOWN_MODEL, "provider.unknown_model", INFRA_ERROR, PROVIDER, FINAL, "The provider has no such model (404).") \
	X(PROVIDER_BAD_REQUEST, "provider.bad_request", INFRA_ERROR, PROVIDER, FINAL, "The provider refused a request (other 4xx).") \
	X(PROVIDER_TRANSIENT, "provider.transient", INFRA_ERROR, PROVIDER, AGAIN, "The provider was overloaded, failed, or broke its answers off (429, 5xx).") \
	X(PROVIDER_NETWORK, "provider.network", INFRA_ERROR, PROVIDER, AGAIN, "The connection to the provider failed.") \
	/* Budgets. */ \
	X(BUDGET_REACHED, "budget.reached", BUDGET, USER, FINAL, "A budget was used up while the agent worked.") \
	X(BUDGET_TOKENS, "budget.tokens", BUDGET, USER, FINAL, "The budget of tokens is used up.") \
	X(BUDGET_USD, "budget.usd", BUDGET, USER, FINAL, "The budget of dollars is used up.") \
	X(BUDGET_SECONDS, "budget.seconds", BUDGET, USER, FINAL, "The budget of time is used up.") \
	X(BUDGET_UNKNOWN_PRICE, "budget.unknown_price", BUDGET, USER, FINAL, "A budget of dollars is set and the model has no price.") \
	/* The contract of a kernel file. */ \
	X(CONTRACT_NOT_A_FILE, "contract.not_a_file", REFUSED, KERNEL, FINAL, "The kernel is not a file that can be read.") \
	X(CONTRACT_TOO_LARGE, "contract.too_large", REFUSED, KERNEL, FINAL, "The kernel is larger than a kernel may be.") \
	X(CONTRACT_EMPTY, "contract.empty", REFUSED, KERNEL, FINAL, "The kernel is empty.") \
	X(CONTRACT_ENCODING, "contract.encoding", REFUSED, KERNEL, FINAL, "The kernel is not plain UTF-8.") \
	X(CONTRACT_SYNTAX, "contract.syntax", REFUSED, KERNEL, FINAL, "The kernel is not Python.") \
	X(CONTRACT_TOO_COMPLEX, "contract.too_complex", REFUSED, KERNEL, FINAL, "The kernel has too many names or nests too deeply.") \
	X(CONTRACT_UNPARSABLE, "contract.unparsable", REFUSED, KERNEL, FINAL, "The parser ended on the kernel.") \
	X(CONTRACT_MISSING_ENTRY, "contract.missing_entry", REFUSED, KERNEL, FINAL, "An entry function is missing.") \
	X(CONTRACT_ENTRY_KIND, "contract.entry_kind", REFUSED, KERNEL, FINAL, "An entry is not a plain function.") \
	X(CONTRACT_SIGNATURE, "contract.signature", REFUSED, KERNEL, FINAL, "The parameters of an entry are not the operator's.") \
	X(CONTRACT_NO_KERNEL, "contract.no_kernel", REFUSED, KERNEL, FINAL, "The file has no @triton.jit function.") \
	X(CONTRACT_KERNEL_UNREACHABLE, "contract.kernel_unreachable", REFUSED, KERNEL, FINAL, "No entry reaches a @triton.jit function.") \
	/* Rules on the text of a kernel file (policy/l1.yaml). They are no accusation of cheating: the effect of a name is not observed. */ \
	X(L1_GLOBAL_SETTING, "l1.global_setting", NONE, KERNEL, FINAL, "A setting of the whole process is changed.") \
	X(L1_DYNAMIC_ATTRIBUTE, "l1.dynamic_attribute", NONE, KERNEL, FINAL, "An attribute is read by a computed name.") \
	X(L1_DUNDER, "l1.dunder", NONE, KERNEL, FINAL, "A special name is read that a kernel does not need.") \
	X(L1_HOST_DATA, "l1.host_data", NONE, KERNEL, FINAL, "A value of a tensor is brought to the host.") \
	X(L1_ENVIRONMENT, "l1.environment", NONE, KERNEL, FINAL, "The environment is read.") \
	X(L1_PATCH, "l1.patch", NONE, KERNEL, FINAL, "An object is changed that does not belong to the kernel.") \
	X(L1_DYNAMIC_CODE, "l1.dynamic_code", REFUSED, KERNEL, FINAL, "Code is made while it runs.") \
	X(L1_CHANCE, "l1.chance", REFUSED, KERNEL, FINAL, "A call reads a clock, chance or threads.") \
	X(L1_COMPUTED_NAME, "l1.computed_name", REFUSED, KERNEL, FINAL, "A call finds a function of torch or a tensor by a computed name.") \
	X(L1_SURROUNDINGS, "l1.surroundings", REFUSED, KERNEL, FINAL, "A call looks at the process around it.") \
	X(L1_INTROSPECTION, "l1.introspection", NONE, KERNEL, FINAL, "Frames, namespaces or the insides of modules are read.") \
	X(L1_SYSTEM, "l1.system", REFUSED, KERNEL, FINAL, "Files, processes or the network are used.") \
	X(L1_IO, "l1.io", REFUSED, KERNEL, FINAL, "Files or streams are used.") \
	X(L1_HOOK, "l1.hook", NONE, KERNEL, FINAL, "A hook of torch or of Python, or a subclass of a tensor.") \
	X(L1_POINTER, "l1.pointer", NONE, KERNEL, FINAL, "The address or the storage of a tensor is read.") \
	X(L1_JIT_INTERNALS, "l1.jit_internals", NONE, KERNEL, FINAL, "An internal attribute of a jit function is used.") \
	X(L1_STREAM, "l1.stream", NONE, KERNEL, FINAL, "Streams, graphs or the allocator are used.") \
	X(L1_TORCH_COMPILE, "l1.torch_compile", REFUSED, KERNEL, FINAL, "Another compiler writes the kernel.") \
	X(L1_FOREIGN_CODE, "l1.foreign_code", REFUSED, KERNEL, FINAL, "Host code reaches beyond tensors.") \
	X(L1_TORCH_COMPUTE, "l1.torch_compute", REFUSED, KERNEL, FINAL, "torch computes outside of a kernel.") \
	X(L1_TRITON_INTERNALS, "l1.triton_internals", NONE, KERNEL, FINAL, "The insides of Triton are used.") \
	X(L1_LIBRARY_COMPUTE, "l1.library_compute", REFUSED, KERNEL, FINAL, "Another library computes.") \
	/* Faults of a call. */ \
	X(VERIFY_EXCEPTION, "verify.exception", FAILED, KERNEL, FINAL, "The call raised an exception.") \
	X(VERIFY_DEVICE_EXCEPTION, "verify.device_exception", FAILED, KERNEL, FINAL, "The call raised an exception of the GPU or its driver, or no GPU can run its kernel.") \
	X(VERIFY_EXIT, "verify.exit", FAILED, KERNEL, FINAL, "The kernel file ended its process.") \
	X(VERIFY_CRASH, "verify.crash", FAILED, KERNEL, FINAL, "A signal ended the kernel's process.") \
	X(VERIFY_TIMEOUT, "verify.timeout", FAILED, KERNEL, FINAL, "A call or the whole verification took too long.") \
	X(VERIFY_OOM, "verify.oom", FAILED, KERNEL, FINAL, "The kernel ran out of memory.") \
	X(VERIFY_PROTOCOL, "verify.protocol", FAILED, KERNEL, FINAL, "The kernel's process broke the protocol with the judge.") \
	X(VERIFY_RETURN, "verify.return", FAILED, KERNEL, FINAL, "The call returned another number or kind of values.") \
	X(VERIFY_TYPE, "verify.type", FAILED, KERNEL, FINAL, "A result is not a plain tensor.") \
	X(VERIFY_DTYPE, "verify.dtype", FAILED, KERNEL, FINAL, "A result has the wrong element type.") \
	X(VERIFY_SHAPE, "verify.shape", FAILED, KERNEL, FINAL, "A result has the wrong shape.") \
	X(VERIFY_STRIDES, "verify.strides", FAILED, KERNEL, FINAL, "A result has the wrong strides.") \
	X(VERIFY_LAYOUT, "verify.layout", FAILED, KERNEL, FINAL, "Elements of a result overlap in memory.") \
	X(VERIFY_ALIAS, "verify.alias", FAILED, KERNEL, FINAL, "A result shares memory that it may not share.") \
	X(VERIFY_MUTATION, "verify.mutation", FAILED, KERNEL, FINAL, "The call changed an argument.") \
	X(VERIFY_STRAY_WRITE, "verify.stray_write", FAILED, KERNEL, FINAL, "The call wrote between the elements of a result.") \
	X(VERIFY_OUT_OF_BOUNDS, "verify.out_of_bounds", FAILED, KERNEL, FINAL, "The kernel reached memory outside of its tensors.") \
	X(VERIFY_RACE, "verify.race", FAILED, KERNEL, FINAL, "Two programs of a launch, or two lanes of a program without a barrier between them, use an element, and one of them writes it.") \
	X(VERIFY_MISMATCH, "verify.mismatch", FAILED, KERNEL, FINAL, "Elements of a result are wrong.") \
	X(VERIFY_UNSTABLE, "verify.unstable", FAILED, KERNEL, FINAL, "Repeated calls give results that differ by more than the tolerance.") \
	X(VERIFY_SEED, "verify.seed", FAILED, KERNEL, FINAL, "A random operator does not follow its seed.") \
	X(VERIFY_DISTRIBUTION, "verify.distribution", FAILED, KERNEL, FINAL, "Random results do not follow the operator's distribution.") \
	/* Faults shown by a GPU record. */ \
	X(VERIFY_RECORD, "verify.record", FAILED, KERNEL, FINAL, "The record of the kernel's work on the GPU breaks a rule.") \
	X(VERIFY_NOT_REPLAYABLE, "verify.not_replayable", FAILED, KERNEL, FINAL, "The work on the GPU cannot be repeated on other data.") \
	X(VERIFY_HOST_DEPENDENT, "verify.host_dependent", FAILED, KERNEL, FINAL, "The work on the GPU depends on data that the host read.") \
	X(VERIFY_VARYING_PARAMETERS, "verify.varying_parameters", FAILED, KERNEL, FINAL, "Equal calls launch with different parameters.") \
	/* What the cases did not reach in a kernel that is right in all of them. */ \
	X(COVERAGE_CONDITION, "coverage.condition", REFUSED, KERNEL, FINAL, "A condition on elements had one outcome in all cases, so what depends on it was not judged.") \
	/* Cheats that the judge observed. */ \
	X(CHEAT_TORCH_COMPUTE, "cheat.torch_compute", CHEATED, KERNEL, FINAL, "torch computed outside of the Triton kernels.") \
	X(CHEAT_TORCH_COPIES, "cheat.torch_copies", CHEATED, KERNEL, FINAL, "torch's copies did the work of the kernels.") \
	X(CHEAT_NO_LAUNCH, "cheat.no_launch", CHEATED, KERNEL, FINAL, "The result is right, and no Triton kernel was launched.") \
	X(CHEAT_GHOST, "cheat.ghost", CHEATED, KERNEL, FINAL, "Results stay right without the launches: the kernels do nothing.") \
	X(CHEAT_LIBRARY_COMPUTE, "cheat.library_compute", CHEATED, KERNEL, FINAL, "A library's kernel ran in the place of a Triton kernel.") \
	X(CHEAT_TIMING_OTHER_RESULT, "cheat.timing.other_result", CHEATED, KERNEL, FINAL, "Timed calls gave other results than judged calls.") \
	X(CHEAT_TIMING_BELOW_FLOOR, "cheat.timing.below_floor", CHEATED, KERNEL, FINAL, "A time is shorter than the hardware allows.") \
	X(CHEAT_TIMING_RULER_ORDER, "cheat.timing.ruler_order", CHEATED, KERNEL, FINAL, "A time span is longer than a span that contains it.") \
	X(CHEAT_TIMING_RULER_HOST, "cheat.timing.ruler_host", CHEATED, KERNEL, FINAL, "Events and the host's clock disagree.") \
	X(CHEAT_TIMING_RULER_OUTSIDE, "cheat.timing.ruler_outside", CHEATED, KERNEL, FINAL, "A block claims more time than it took.") \
	X(CHEAT_TIMING_CHECKED, "cheat.timing.checked", CHEATED, KERNEL, FINAL, "Calls whose results are checked take longer than the others.") \
	X(CHEAT_TIMING_REUSE, "cheat.timing.reuse", CHEATED, KERNEL, FINAL, "Calls on inputs used before are faster than calls on new inputs.") \
	X(CHEAT_TIMING_TREND, "cheat.timing.trend", CHEATED, KERNEL, FINAL, "The candidate's speed relative to the baseline changes during the session.") \
	/* Faults of kgb-agent or its machine. */ \
	X(INFRA_NOT_STARTED, "infra.not_started", INFRA_ERROR, MACHINE, AGAIN, "The attempt could not be started.") \
	X(INFRA_SANDBOX, "infra.sandbox", INFRA_ERROR, MACHINE, AGAIN, "The sandbox ended under the agent: bwrap or kgb-launch was killed.") \
	X(INFRA_NO_REQUEST, "infra.no_request", INFRA_ERROR, MACHINE, AGAIN, "The CLI sent the model no request in limits.first_request: it is another program, or cannot work here.") \
	X(INFRA_LOST, "infra.lost", INFRA_ERROR, MACHINE, AGAIN, "kgb-agent ended before the attempt did.") \
	X(INFRA_PERMISSION_DENIED, "infra.permission_denied", INFRA_ERROR, MACHINE, AGAIN, "The CLI was refused a tool that it must have.") \
	X(INFRA_CANCELLED, "infra.cancelled", CANCELLED, USER, FINAL, "The run ended before a verdict.") \
	X(INFRA_JUDGE, "infra.judge", INFRA_ERROR, MACHINE, AGAIN, "The judge gave no verdict.") \
	X(INFRA_FACTS, "infra.facts", INFRA_ERROR, MACHINE, AGAIN, "The facts about the kernel file could not be read.") \
	X(INFRA_CORRECTNESS, "infra.correctness", INFRA_ERROR, MACHINE, AGAIN, "Correctness could not be judged.") \
	X(INFRA_L2, "infra.l2", INFRA_ERROR, MACHINE, AGAIN, "The ablation could not be judged.") \
	X(INFRA_RECOMPILE, "infra.recompile", INFRA_ERROR, MACHINE, AGAIN, "The judge could not compile a kernel for lack of time, memory or processes.") \
	X(INFRA_UNSUPPORTED_OP, "infra.unsupported_op", INFRA_ERROR, MACHINE, FINAL, "The judge cannot execute an operation of a kernel on the CPU.") \
	X(INFRA_TIMING, "infra.timing", INFRA_ERROR, MACHINE, AGAIN, "The kernel could not be timed.") \
	X(INFRA_UNDECIDED, "infra.undecided", INFRA_ERROR, MACHINE, AGAIN, "No stage decided, and not every stage passed.") \
	X(INFRA_GPU_BUSY, "infra.gpu_busy", INFRA_ERROR, MACHINE, AGAIN, "The GPU was not free in time.") \
	X(INFRA_GPU_LEASE, "infra.gpu_lease", INFRA_ERROR, MACHINE, AGAIN, "The GPU could not be reserved.") \
	X(INFRA_GPU_HEALTH, "infra.gpu_health", INFRA_ERROR, MACHINE, AGAIN, "The GPU failed a test after the verdict.") \
	X(INFRA_GPU_MEMORY, "infra.gpu_memory", INFRA_ERROR, MACHINE, AGAIN, "Other processes hold the memory of the GPU.")
/* clang-format on */

enum kgb_code {
	KGB_CODE_NONE, /* none: passed, or not known yet */
#define KGB_CODE_ENUMERATOR(id, ...) KGB_CODE_##id,
	KGB_CODES(KGB_CODE_ENUMERATOR)
#undef KGB_CODE_ENUMERATOR
		KGB_N_CODES,
};

/** The end of a kernel or an operator. */
enum kgb_status {
	KGB_STATUS_NONE, /* the code is a note and decides nothing */
	KGB_STATUS_PASSED,
	KGB_STATUS_FAILED, /* it does not do the operator's work */
	KGB_STATUS_REFUSED, /* its text breaks a rule, or no case reaches an outcome of a condition
			     */
	KGB_STATUS_CHEATED, /* calls were observed to have their results from elsewhere */
	KGB_STATUS_TIMEOUT,
	KGB_STATUS_BUDGET,
	KGB_STATUS_CANCELLED,
	KGB_STATUS_INFRA_ERROR,
	KGB_N_STATUSES,
};
/** "passed", ..., "infra_error"; NULL for NONE. */
const char *kgb_status_name(enum kgb_status status);
/** The status of that name; NONE when there is none or `name` is NULL. */
enum kgb_status kgb_status_find(const char *name);
/** Whether a verdict of this status decides about the kernel. */
bool kgb_status_is_decided(enum kgb_status status);

enum kgb_blame {
	KGB_BLAME_NOBODY,
	KGB_BLAME_KERNEL,
	KGB_BLAME_AGENT,
	KGB_BLAME_PROVIDER, /* of the model */
	KGB_BLAME_MACHINE, /* kgb-agent itself or the computer */
	KGB_BLAME_USER, /* a limit that the user set, or the user's signal */
};
/** "kernel", "agent", ...; "-" for none. */
const char *kgb_blame_name(enum kgb_blame blame);

struct kgb_code_row {
	const char *name; /* "verify.mismatch" */
	enum kgb_status status;
	enum kgb_blame blame;
	bool is_tried_again;
	const char *sentence;
};
/** The row of a code; all NULL and NONE for KGB_CODE_NONE. */
const struct kgb_code_row *kgb_code_row(enum kgb_code code);
/** Its name; NULL for KGB_CODE_NONE. */
const char *kgb_code_name(enum kgb_code code);
/** The status that it leads to; NONE for KGB_CODE_NONE. */
enum kgb_status kgb_code_status(enum kgb_code code);
/** Whether it is one of these codes. */
bool kgb_code_is_among(enum kgb_code code, const enum kgb_code *codes, size_t n);
/** The code of that name. KGB_CODE_NONE: `name` is NULL or no code of this version. */
enum kgb_code kgb_code_find(const char *name);

#endif
