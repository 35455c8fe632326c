/* SPDX-License-Identifier: MIT */
#include "verify/machine/machine.h"

#include <pthread.h>
#include <signal.h>

#include "base/parallel.h"
#include "verify/machine/families.h"
#include "verify/program/conditions.h"
#include "verify/program/follow.h"
#include "verify/program/hints.h"

/* ---- programs ---- */

static const struct kgb_ttir_function *find_kernel(const struct kgb_ttir_module *module)
{
	for (uint32_t i = 0; i < module->n_functions; i++)
		if (module->functions[i].is_public)
			return &module->functions[i];
	return NULL;
}

static void build_kernel(struct kgb_builder *b, const struct kgb_ttir_function *f)
{
	struct kgb_machine_program *program = b->program;
	const uint32_t n = f->arguments.n_arguments;

	program->name = kgb_arena_strndup(&program->arena, f->name.s, f->name.n);
	program->arguments = kgb_builder__list(b, n);
	program->claims = kgb_arena_array(&program->arena, n + 1, sizeof(*program->claims));
	program->n_arguments = n;
	for (uint32_t i = 0; i < n; i++) {
		const struct kgb_ttir_argument *argument = &f->arguments.arguments[i];
		if (argument->type.rank && argument->type.element != KGB_TTIR_DESCRIPTOR)
			kgb_builder__fail(b, "argument %u of the kernel is a block", i);
		if (argument->type.element == KGB_TTIR_DESCRIPTOR &&
		    argument->type.rank > KGB_MACHINE_DESCRIPTOR_RANK)
			kgb_builder__fail(b, "argument %u of the kernel: too many dimensions", i);
		program->arguments[i] = kgb_builder__add_value(b, &argument->type, 0);
		if (b->failed)
			return;
		b->values.items[program->arguments[i]].argument = (int32_t)i;
		program->claims[i].divisibility = argument->divisibility;
		kgb_builder__name(b, argument->name, &program->arguments[i], 1);
	}
	if (f->n_results)
		kgb_builder__fail(b, "a kernel with results");
	if (!b->failed)
		program->body = kgb_builder__region_with_end(b, NULL, &f->body, NULL, 0,
							     KGB_END_RETURN, NULL, 0);
}

static int build(struct kgb_machine_program *program, const struct kgb_ttir_module *module,
		 struct kgb_err *err)
{
	struct kgb_builder b = {.program = program,
				.module = module,
				.find_rule = kgb_build_rule_find,
				.note_hints = kgb_hints__note,
				.err = err};
	const struct kgb_ttir_type none = {0};
	const struct kgb_ttir_function *kernel = find_kernel(module);

	if (!kernel)
		return kgb_fail(err, KGB_ERR_INVALID, "the module has no public function");
	(void)kgb_builder__add_value(&b, &none, 0); /* value 0 stands for none */
	build_kernel(&b, kernel);
	if (!b.failed)
		kgb_conditions__find(&b);
	if (!b.failed)
		kgb_follow__conditions(&b);
	KGB_VEC_RELEASE(&b.names);
	KGB_VEC_RELEASE(&b.reads);
	program->values = b.values.items;
	program->n_values = (uint32_t)b.values.n;
	program->constants = b.constants.items;
	program->constant_bytes = b.constants.n;
	if (b.failed)
		return -1;
	return kgb_program__lay_out(program, err);
}

int kgb_machine_program_parse(struct kgb_machine_program **out, const char *text, size_t len,
			      struct kgb_err *err)
{
	struct kgb_ttir_module module = KGB_TTIR_MODULE_INIT;
	int rc = kgb_ttir_parse(text, len, &module, err);

	if (rc == 0) {
		struct kgb_machine_program *program = kgb_xcalloc(1, sizeof(*program));
		rc = build(program, &module, err);
		if (rc == 0)
			*out = program;
		else
			kgb_machine_program_free(program);
	}
	kgb_ttir_module_release(&module);
	return rc;
}

void kgb_machine_program_free(struct kgb_machine_program *program)
{
	if (!program)
		return;
	kgb_free(program->values);
	kgb_free(program->conditions);
	kgb_free(program->constants);
	kgb_arena_release(&program->arena);
	kgb_free(program);
}

const char *kgb_machine_program_name(const struct kgb_machine_program *program)
{
	return program->name;
}

uint32_t kgb_machine_program_n_arguments(const struct kgb_machine_program *program)
{
	return program->n_arguments;
}

static enum kgb_ttir_element element_of(const struct kgb_machine_program *program, uint32_t index)
{
	return (enum kgb_ttir_element)program->values[program->arguments[index]].type.element;
}

const char *kgb_machine_program_argument(const struct kgb_machine_program *program, uint32_t index)
{
	return kgb_ttir_element_name(element_of(program, index));
}

uint32_t kgb_machine_program_n_operations(const struct kgb_machine_program *program)
{
	return program->n_operations;
}

uint32_t kgb_machine_program_n_conditions(const struct kgb_machine_program *program)
{
	return program->n_conditions;
}

const struct kgb_machine_condition *
kgb_machine_program_conditions(const struct kgb_machine_program *program)
{
	return program->conditions;
}

size_t kgb_machine_program_arena_bytes(const struct kgb_machine_program *program)
{
	return program->arena_bytes;
}

/* ---- launches ---- */

uint64_t kgb_machine_address(uint32_t i)
{
	return ((uint64_t)i + 1) << 40;
}

const char *kgb_machine_fault_name(enum kgb_machine_fault_kind kind)
{
	static const char *const names[] = {
		[KGB_MACHINE_NO_FAULT] = "none",
		[KGB_MACHINE_FAULT_ACCESS] = "access",
		[KGB_MACHINE_FAULT_READ_ONLY] = "read_only",
		[KGB_MACHINE_FAULT_ALIGNMENT] = "alignment",
		[KGB_MACHINE_FAULT_CLAIM] = "claim",
		[KGB_MACHINE_FAULT_RACE] = "race",
		[KGB_MACHINE_FAULT_INDEX] = "index",
		[KGB_MACHINE_FAULT_ASSERT] = "assert",
		[KGB_MACHINE_FAULT_FUEL] = "fuel",
		[KGB_MACHINE_FAULT_HINT] = "hint",
	};
	_Static_assert(KGB_ARRAY_LEN(names) == KGB_N_MACHINE_FAULTS, "one name per fault");

	return names[kind];
}

/* Shared by threads during a launch. */
struct launch {
	const struct kgb_machine_program *program;
	const struct kgb_machine_launch *spec;
	struct kgb_memory memory;
	uint64_t *scalars; /* owned */
	uint8_t **arguments; /* owned; where the elements of each argument are */
	uint64_t n_programs, next;
	uint64_t factor, offset; /* program i is number (factor * i + offset) % n_programs */
	uint64_t piece; /* number of programs that a thread takes at a time */
	int64_t fuel;
	bool failed;
	pthread_mutex_t lock; /* of fault and failed */
	struct kgb_machine_fault *fault;
};

static int check_grid(const struct kgb_machine_launch *spec, uint64_t *n, struct kgb_err *err)
{
	const uint32_t *grid = spec->grid;

	if (grid[0] > KGB_MACHINE_GRID_X_MAX || grid[1] > KGB_MACHINE_GRID_YZ_MAX ||
	    grid[2] > KGB_MACHINE_GRID_YZ_MAX)
		return kgb_fail(err, KGB_ERR_INVALID,
				"a grid of %u x %u x %u: a GPU takes at most %u x %u x %u", grid[0],
				grid[1], grid[2], KGB_MACHINE_GRID_X_MAX, KGB_MACHINE_GRID_YZ_MAX,
				KGB_MACHINE_GRID_YZ_MAX);
	*n = (uint64_t)grid[0] * grid[1] * grid[2];
	return 0;
}

/* Whether a descriptor that the host made meets the conditions of TMA, the GPU's unit for tensor
 * copies. */
static bool is_descriptor(const struct kgb_machine_descriptor *d, const struct kgb_ttir_type *type)
{
	const size_t size = kgb_ttir_element_size((enum kgb_ttir_element)type->pointee);
	bool fits = d && d->address % 16 == 0;

	for (int i = 0; fits && i < type->rank; i++) {
		fits = d->shape[i] >= 0 && d->shape[i] <= INT32_MAX && d->strides[i] >= 0 &&
		       d->strides[i] < INT64_C(1) << 40;
		if (fits && i + 1 < type->rank)
			fits = (uint64_t)d->strides[i] * size % 16 == 0;
	}
	return fits && d->strides[type->rank - 1] == 1;
}

static int set_arguments(struct launch *launch, struct kgb_err *err)
{
	const struct kgb_machine_program *program = launch->program;
	const struct kgb_machine_launch *spec = launch->spec;

	if (spec->n_arguments != program->n_arguments)
		return kgb_fail(err, KGB_ERR_INVALID, "%u arguments for a kernel that takes %u",
				spec->n_arguments, program->n_arguments);
	launch->scalars = kgb_xcalloc((size_t)spec->n_arguments + 1, sizeof(*launch->scalars));
	launch->arguments = kgb_xcalloc((size_t)spec->n_arguments + 1, sizeof(uint8_t *));
	for (uint32_t i = 0; i < spec->n_arguments; i++) {
		const struct kgb_machine_argument *argument = &spec->arguments[i];
		const struct kgb_ttir_type *type = &program->values[program->arguments[i]].type;
		launch->scalars[i] = argument->bits;
		if (type->element == KGB_TTIR_I1)
			launch->scalars[i] &= 1;
		launch->arguments[i] = (uint8_t *)&launch->scalars[i];
		if ((type->element == KGB_TTIR_DESCRIPTOR) != (argument->descriptor != NULL) ||
		    (argument->descriptor && !is_descriptor(argument->descriptor, type)))
			return kgb_fail(err, KGB_ERR_INVALID,
					"argument %u: not a descriptor that the kernel can take",
					i);
		if (argument->descriptor)
			launch->arguments[i] = (uint8_t *)(uintptr_t)argument->descriptor;
	}
	return 0;
}

/* Checks the claims about arguments (tt.divisibility) on which the compiler relies. */
static int check_claims(const struct launch *launch, struct kgb_err *err)
{
	const struct kgb_machine_program *program = launch->program;
	struct kgb_machine_fault *fault = launch->fault;

	KGB_ASSERT(launch->scalars || program->n_arguments == 0);
	for (uint32_t i = 0; i < program->n_arguments; i++) {
		const int64_t claim = program->claims[i].divisibility;
		const uint64_t bits = launch->scalars[i];
		const enum kgb_ttir_element element = element_of(program, i);
		if (claim <= 1 || element == KGB_TTIR_DESCRIPTOR || bits % (uint64_t)claim == 0)
			continue;
		fault->kind = KGB_MACHINE_FAULT_CLAIM;
		fault->address = bits;
		fault->buffer = -1;
		(void)snprintf(fault->message, sizeof(fault->message),
			       "argument %u is compiled as a multiple of %lld, and is 0x%llx", i,
			       (long long)claim, (unsigned long long)bits);
		return kgb_fail(err, KGB_ERR_FAILED, "%s", fault->message);
	}
	return 0;
}

static uint64_t gcd(uint64_t a, uint64_t b)
{
	while (b) {
		uint64_t rest = a % b;
		a = b;
		b = rest;
	}
	return a;
}

/* Draws the order of programs. Programs that may wait for others start in the order of the grid, so
 * that a program may wait for those before it. */
static void draw_order(struct launch *launch)
{
	struct kgb_execution source = {.random = launch->spec->seed};

	launch->factor = 1;
	if (launch->n_programs < 2 || launch->program->may_wait)
		return;
	launch->offset = kgb_execution__draw(&source) % launch->n_programs;
	do
		launch->factor = kgb_execution__draw(&source) % launch->n_programs;
	while (gcd(launch->factor, launch->n_programs) != 1);
}

__extension__ typedef unsigned __int128 uint128;

/* The number of the program that is the i-th to run. */
static uint64_t drawn_program(const struct launch *launch, uint64_t i)
{
	KGB_ASSERT(launch->n_programs > 0);
	return (uint64_t)(((uint128)launch->factor * i + launch->offset) % launch->n_programs);
}

static void *run_thread(void *payload)
{
	struct launch *launch = payload;
	struct kgb_machine_fault fault = {0};
	struct kgb_execution x = {.memory = &launch->memory,
				  .fault = &fault,
				  .reach.outcomes = launch->spec->outcomes,
				  .has_failed = &launch->failed};

	kgb_execution__init(&x, launch->program, launch->arguments);
	memcpy(x.grid, launch->spec->grid, sizeof(x.grid));
	while (!__atomic_load_n(&launch->failed, __ATOMIC_RELAXED)) {
		uint64_t first = __atomic_fetch_add(&launch->next, launch->piece, __ATOMIC_RELAXED);
		uint64_t end = first + launch->piece;
		if (first >= launch->n_programs)
			break;
		end = end < launch->n_programs ? end : launch->n_programs;
		int rc = 0;
		for (uint64_t i = first; i < end && rc == 0; i++)
			rc = kgb_execution__program(&x, drawn_program(launch, i),
						    launch->spec->seed, launch->fuel);
		if (rc == 0)
			continue;
		(void)pthread_mutex_lock(&launch->lock);
		if (!launch->failed)
			*launch->fault = fault;
		__atomic_store_n(&launch->failed, true, __ATOMIC_RELAXED);
		(void)pthread_mutex_unlock(&launch->lock);
	}
	kgb_execution__release(&x);
	if (launch->memory.order)
		kgb_order__end(launch->memory.order);
	return NULL;
}

#define WAITING_THREADS_MAX 256 /* if programs may wait for each other: one for each program */
#define PROGRAMS_PER_THREAD 4 /* at least: a thread costs as much as some small programs */
#define OVERTAKING_THREADS 4 /* at least, if programs acquire: one may overtake another */

static uint64_t choose_threads(const struct launch *launch)
{
	uint64_t n = launch->spec->n_threads > 0 ? (uint64_t)launch->spec->n_threads
						 : (uint64_t)kgb_parallel_cores();

	if (launch->program->may_wait)
		return launch->n_programs < WAITING_THREADS_MAX ? launch->n_programs
								: WAITING_THREADS_MAX;
	const uint64_t per_thread = launch->program->acquires ? 1 : PROGRAMS_PER_THREAD;
	const uint64_t useful = (launch->n_programs + per_thread - 1) / per_thread;
	if (launch->program->acquires && n < OVERTAKING_THREADS)
		n = OVERTAKING_THREADS;
	if (n > KGB_MACHINE_THREADS_MAX)
		n = KGB_MACHINE_THREADS_MAX;
	return n < useful ? n : useful > 0 ? useful : 1;
}

/* The caller's thread runs programs, too. The threads that it starts block all signals. */
static void run_threads(struct launch *launch)
{
	pthread_t threads[WAITING_THREADS_MAX];
	const uint64_t n = choose_threads(launch);
	struct kgb_order *order = launch->memory.order;
	sigset_t all, before;
	uint64_t started = 0;

	KGB_ASSERT(n > 0);
	if (order)
		kgb_order__begin(order, (uint32_t)n);
	launch->piece = launch->program->may_wait ? 1 : launch->n_programs / (16 * n) + 1;
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	while (started + 1 < n && pthread_create(&threads[started], NULL, run_thread, launch) == 0)
		started++;
	for (uint64_t i = started + 1; order && i < n; i++)
		kgb_order__end(order);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	(void)run_thread(launch);
	for (uint64_t i = 0; i < started; i++)
		(void)pthread_join(threads[i], NULL);
}

static int run_launch(struct launch *launch, struct kgb_err *err)
{
	draw_order(launch);
	run_threads(launch);
	if (launch->failed)
		return kgb_fail(err, KGB_ERR_FAILED, "%s", launch->fault->message);
	return 0;
}

int kgb_machine_run(const struct kgb_machine_program *program,
		    const struct kgb_machine_launch *spec, struct kgb_machine_fault *fault,
		    struct kgb_err *err)
{
	struct launch launch = {.program = program,
				.spec = spec,
				.lock = PTHREAD_MUTEX_INITIALIZER,
				.fuel = spec->fuel > 0 ? spec->fuel : KGB_MACHINE_FUEL,
				.fault = fault};
	int rc = -1;

	*fault = (struct kgb_machine_fault){.buffer = -1};
	if (check_grid(spec, &launch.n_programs, err) == 0 && set_arguments(&launch, err) == 0 &&
	    check_claims(&launch, err) == 0 &&
	    kgb_memory__init(&launch.memory, spec, launch.n_programs,
			     program->least_access ? program->least_access : 1, err) == 0) {
		rc = launch.n_programs ? run_launch(&launch, err) : 0;
		kgb_memory__release(&launch.memory);
	}
	kgb_free(launch.scalars);
	kgb_free(launch.arguments);
	return rc;
}
