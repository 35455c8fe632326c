/* SPDX-License-Identifier: MIT */
#include <sys/mman.h>

#include "tests/unit/base/support.h"
#include "verify/trace/graph.h"
#include "verify/trace/tracer.h"

/* ---- A driver with a few functions, pointers and graphs ---- */

#define MODULE 0x1000
#define LIBRARY 0x2000
#define FUNCTION 0x1001 /* of the module: (pointer, pointer, int) */
#define KERNEL 0x2001 /* of the library: (pointer) */
#define LIBRARY_FUNCTION 0x2002 /* made from KERNEL */
#define STRANGER 0x3001 /* of a module that was never loaded */

#define HOST_POINTER UINT64_C(0x7f0000001000)
#define MANAGED_POINTER UINT64_C(0x7f0000002000)
#define DEVICE_POINTER UINT64_C(0x7f0000003000) /* in a block that begins 0x1000 before */

#define HANDLE(type, number) ((type)(uintptr_t)(number))
#define NUMBER(handle) ((uint64_t)(uintptr_t)(handle))

static struct {
	unsigned n_pointer_queries, n_layout_queries;
	int carveout;
} gpu;

static CUresult fake_func_module(CUmodule *module, CUfunction function)
{
	switch (NUMBER(function)) {
	case FUNCTION:
		*module = HANDLE(CUmodule, MODULE);
		return CUDA_SUCCESS;
	case LIBRARY_FUNCTION:
	case STRANGER:
		*module = HANDLE(CUmodule, 0x9999);
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_INVALID_HANDLE;
	}
}

static CUresult fake_func_name(const char **name, CUfunction function)
{
	*name = NUMBER(function) == FUNCTION ? "function" : "kernel";
	return CUDA_SUCCESS;
}

static CUresult fake_kernel_name(const char **name, CUkernel kernel)
{
	*name = "kernel";
	return NUMBER(kernel) == KERNEL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

static CUresult fake_func_param(CUfunction function, size_t i, size_t *offset, size_t *bytes)
{
	gpu.n_layout_queries++;
	if (i >= (NUMBER(function) == FUNCTION ? 3 : 1))
		return CUDA_ERROR_INVALID_VALUE;
	*offset = 8 * i;
	*bytes = i == 2 ? 4 : 8;
	return CUDA_SUCCESS;
}

static CUresult fake_kernel_param(CUkernel kernel, size_t i, size_t *offset, size_t *bytes)
{
	return fake_func_param((CUfunction)(void *)kernel, i, offset, bytes);
}

static CUresult fake_kernel_library(CUlibrary *library, CUkernel kernel)
{
	*library = HANDLE(CUlibrary, LIBRARY);
	return NUMBER(kernel) == KERNEL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

static CUresult fake_kernel_function(CUfunction *function, CUkernel kernel)
{
	*function = HANDLE(CUfunction, LIBRARY_FUNCTION);
	return NUMBER(kernel) == KERNEL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

static CUresult fake_library_kernel(CUkernel *kernel, CUlibrary library, const char *name)
{
	assert_int_equal(NUMBER(library), LIBRARY);
	*kernel = HANDLE(CUkernel, KERNEL);
	return strcmp(name, "kernel") == 0 ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

static CUresult fake_func_attribute(int *value, CUfunction_attribute attribute, CUfunction function)
{
	assert_int_equal(attribute, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT);
	assert_non_null(function);
	*value = gpu.carveout;
	return CUDA_SUCCESS;
}

static CUresult fake_pointer(unsigned n, CUpointer_attribute *which, void **values,
			     CUdeviceptr address)
{
	const bool device = address >= DEVICE_POINTER - 0x1000 && address < DEVICE_POINTER + 0x1000;

	gpu.n_pointer_queries++;
	for (unsigned i = 0; i < n; i++) {
		switch ((int)which[i]) {
		case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
			*(unsigned *)values[i] = device                       ? CU_MEMORYTYPE_DEVICE
						 : address == HOST_POINTER    ? CU_MEMORYTYPE_HOST
						 : address == MANAGED_POINTER ? CU_MEMORYTYPE_DEVICE
									      : 0;
			break;
		case CU_POINTER_ATTRIBUTE_IS_MANAGED:
			*(unsigned *)values[i] = address == MANAGED_POINTER;
			break;
		case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
			*(CUdeviceptr *)values[i] = device ? DEVICE_POINTER - 0x1000 : 0;
			break;
		default:
			*(size_t *)values[i] = device ? 0x2000 : 0;
			break;
		}
	}
	return CUDA_SUCCESS;
}

/* A graph is an array of these that ends with type -1; a node is a pointer into it. `next` and
 * `before` count edges. */
struct node {
	int type;
	unsigned n_next, n_before;
	unsigned char edge_type;
	CUDA_KERNEL_NODE_PARAMS kernel;
	CUDA_MEMSET_NODE_PARAMS memset;
	CUDA_MEMCPY3D copy;
};

static CUresult fake_graph_nodes(CUgraph graph, CUgraphNode *nodes, size_t *n)
{
	struct node *all = (struct node *)(void *)graph;
	size_t i;

	for (i = 0; all[i].type >= 0; i++) {
		if (nodes)
			nodes[i] = (CUgraphNode)(void *)&all[i];
	}
	*n = i;
	return CUDA_SUCCESS;
}

static const struct node *node_of(CUgraphNode node)
{
	return (const struct node *)(const void *)node;
}

static CUresult fake_node_type(CUgraphNode node, CUgraphNodeType *type)
{
	*type = (CUgraphNodeType)node_of(node)->type;
	return CUDA_SUCCESS;
}

static CUresult fake_node_before(CUgraphNode node, CUgraphNode *nodes, CUgraphEdgeData *edges,
				 size_t *n)
{
	assert_null(nodes);
	assert_null(edges);
	*n = node_of(node)->n_before;
	return CUDA_SUCCESS;
}

static CUresult fake_node_next(CUgraphNode node, CUgraphNode *nodes, CUgraphEdgeData *edges,
			       size_t *n)
{
	*n = node_of(node)->n_next;
	if (nodes) {
		memset(edges, 0, sizeof(*edges));
		edges->type = node_of(node)->edge_type;
		nodes[0] = (CUgraphNode)(void *)(uintptr_t)(node_of(node) + 1);
	}
	return CUDA_SUCCESS;
}

static CUresult fake_node_kernel(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS *params)
{
	*params = node_of(node)->kernel;
	return CUDA_SUCCESS;
}

static CUresult fake_node_memset(CUgraphNode node, CUDA_MEMSET_NODE_PARAMS *params)
{
	*params = node_of(node)->memset;
	return CUDA_SUCCESS;
}

static CUresult fake_node_copy(CUgraphNode node, CUDA_MEMCPY3D *params)
{
	*params = node_of(node)->copy;
	return CUDA_SUCCESS;
}

static CUresult fake_node_attribute(CUgraphNode node, CUkernelNodeAttrID id,
				    CUkernelNodeAttrValue *value)
{
	(void)node;
	value->cooperative = id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
	return CUDA_SUCCESS;
}

static const struct kgb_cuda fake = {
	.cuFuncGetModule = fake_func_module,
	.cuFuncGetName = fake_func_name,
	.cuFuncGetParamInfo = fake_func_param,
	.cuFuncGetAttribute = fake_func_attribute,
	.cuKernelGetName = fake_kernel_name,
	.cuKernelGetParamInfo = fake_kernel_param,
	.cuKernelGetLibrary = fake_kernel_library,
	.cuKernelGetFunction = fake_kernel_function,
	.cuLibraryGetKernel = fake_library_kernel,
	.cuPointerGetAttributes = fake_pointer,
	.cuGraphGetNodes = fake_graph_nodes,
	.cuGraphNodeGetType = fake_node_type,
	.cuGraphNodeGetDependencies = fake_node_before,
	.cuGraphNodeGetDependentNodes = fake_node_next,
	.cuGraphKernelNodeGetParams = fake_node_kernel,
	.cuGraphKernelNodeGetAttribute = fake_node_attribute,
	.cuGraphMemsetNodeGetParams = fake_node_memset,
	.cuGraphMemcpyNodeGetParams = fake_node_copy,
};

/* ---- Fixture ---- */

struct fixture {
	struct kgb_tracer tracer;
	int fd;
	unsigned char *bytes;
	struct kgb_record record;
};

struct fatbin {
	uint32_t magic;
	uint16_t version;
	uint16_t header_bytes;
	uint64_t payload_bytes;
	unsigned char payload[16];
};

static const struct fatbin image_one = {0xba55ed50u, 1, 16, 16, "one"};
static const struct fatbin image_two = {0xba55ed50u, 1, 16, 16, "two"};

static int setup(void **state)
{
	struct fixture *fx = kgb_xcalloc(1, sizeof(*fx));
	struct kgb_err err = KGB_ERR_INIT;

	memset(&gpu, 0, sizeof(gpu));
	gpu.carveout = -1;
	fx->fd = memfd_create("record", MFD_CLOEXEC);
	kgb_tracer_init(&fx->tracer, &fake);
	kgb_images_load(&fx->tracer.images, 0, MODULE, &image_one);
	kgb_images_load(&fx->tracer.images, KGB_IMAGE_IS_LIBRARY, LIBRARY, &image_two);
	assert_ok(kgb_recorder_open(&fx->tracer.recorder, fx->fd, 1 << 20, &err), err);
	assert_ok(kgb_tracer_begin(&fx->tracer, 1, &err), err);
	*state = fx;
	return 0;
}

static void drop_record(struct fixture *fx)
{
	kgb_record_release(&fx->record);
	memset(&fx->record, 0, sizeof(fx->record));
	kgb_free(fx->bytes);
	fx->bytes = NULL;
}

static int teardown(void **state)
{
	struct fixture *fx = *state;

	drop_record(fx);
	kgb_graphs_release(&fx->tracer.graphs);
	kgb_tracer_release(&fx->tracer);
	close(fx->fd);
	kgb_free(fx);
	return 0;
}

/* Ends the window, reads it back, and begins the next one. */
static const struct kgb_window *window(struct fixture *fx)
{
	struct kgb_recorder *rec = &fx->tracer.recorder;
	const uint32_t number = rec->number;
	struct kgb_err err = KGB_ERR_INIT;

	assert_ok(kgb_recorder_end(rec, &err), err);
	drop_record(fx);
	fx->bytes = kgb_xmalloc(rec->written);
	assert_int_equal(pread(fx->fd, fx->bytes, rec->written, 0), rec->written);
	assert_ok(kgb_record_parse(fx->bytes, rec->written, &fx->record, &err), err);
	assert_ok(kgb_tracer_begin(&fx->tracer, number + 1, &err), err);
	return kgb_record_window(&fx->record, number);
}

static const struct kgb_op *only_op(struct fixture *fx, enum kgb_op_kind kind)
{
	const struct kgb_window *w = window(fx);

	assert_int_equal(w->n_ops, 1);
	if (w->ops[0].kind != kind && w->ops[0].kind == KGB_OP_UNSUPPORTED)
		fail_msg("unsupported: %s", w->ops[0].why);
	assert_int_equal(w->ops[0].kind, kind);
	return &w->ops[0];
}

static void launch(struct fixture *fx, uint64_t function, uint64_t a, uint64_t b, int32_t n)
{
	void *values[] = {&a, &b, &n};
	const struct kgb_launch_request request = {
		.function = HANDLE(CUfunction, function),
		.grid = {1, 2, 3},
		.block = {4, 5, 6},
		.shared_bytes = 7,
		.params = values,
	};

	kgb_tracer_launch(&fx->tracer, 8, &request);
}

/* ---- Launches ---- */

static void test_a_launch_has_its_image_name_layout_and_geometry(void **state)
{
	struct fixture *fx = *state;
	const struct kgb_op *op;
	uint64_t word;

	launch(fx, FUNCTION, KGB_ARENA_ADDRESS, KGB_POOL_ADDRESS, 77);
	op = only_op(fx, KGB_OP_LAUNCH);
	assert_string_equal(op->launch.kernel, "function");
	assert_memory_equal(kgb_record_image(&fx->record, op->launch.image)->bytes + 16, "one", 3);
	assert_int_equal(op->stream, 8);
	assert_int_equal(op->launch.grid[2], 3);
	assert_int_equal(op->launch.block[0], 4);
	assert_int_equal(op->launch.shared_bytes, 7);
	assert_int_equal(op->launch.carveout, -1);
	assert_int_equal(op->launch.params_bytes, 20);
	memcpy(&word, op->launch.params + 8, 8);
	assert_int_equal(word, KGB_POOL_ADDRESS);
	assert_int_equal(op->launch.params[16], 77);
	assert_int_equal(gpu.n_pointer_queries, 0);
}

static void test_a_kernel_handle_and_its_function_lead_to_the_librarys_image(void **state)
{
	struct fixture *fx = *state;
	const struct kgb_window *w;

	launch(fx, KERNEL, KGB_POOL_ADDRESS, 0, 0);
	launch(fx, LIBRARY_FUNCTION, KGB_POOL_ADDRESS, 0, 0);
	w = window(fx);
	assert_int_equal(w->n_ops, 2);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(w->ops[i].kind, KGB_OP_LAUNCH);
		assert_string_equal(w->ops[i].launch.kernel, "kernel");
		assert_int_equal(w->ops[i].launch.params_bytes, 8);
		assert_memory_equal(kgb_record_image(&fx->record, w->ops[i].launch.image)->bytes +
					    16,
				    "two", 3);
	}
}

static void test_the_driver_is_asked_once_until_the_image_is_unloaded(void **state)
{
	struct fixture *fx = *state;
	unsigned before;

	for (unsigned i = 0; i < 5; i++)
		launch(fx, FUNCTION, 0, 0, 0);
	assert_int_equal(gpu.n_layout_queries, 4);
	before = gpu.n_layout_queries;
	kgb_functions_forget(&fx->tracer.functions, kgb_images_unload(&fx->tracer.images, MODULE));
	launch(fx, FUNCTION, 0, 0, 0);
	assert_true(gpu.n_layout_queries > before);
	/* The image of the first launches stays in the window; the last one has none. */
	const struct kgb_window *w = window(fx);

	assert_int_equal(w->n_ops, 6);
	assert_int_equal(w->ops[4].kind, KGB_OP_LAUNCH);
	assert_string_equal(w->ops[5].why, "kernel of an unknown image");
}

static void test_launches_that_cannot_be_recorded_are_named(void **state)
{
	static const struct {
		uint64_t function;
		const char *why;
	} cases[] = {
		{STRANGER, "kernel of an unknown image"},
		{0x4444, "kernel handle"},
	};
	struct fixture *fx = *state;

	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		launch(fx, cases[i].function, 0, 0, 0);
		assert_string_equal(only_op(fx, KGB_OP_UNSUPPORTED)->why, cases[i].why);
	}
	kgb_images_load(&fx->tracer.images, 0, MODULE, ".version 8.0 // PTX");
	launch(fx, FUNCTION, 0, 0, 0);
	assert_string_equal(only_op(fx, KGB_OP_UNSUPPORTED)->why, "image is no cubin or fatbin");
}

static void test_parameters_that_point_to_the_host_are_named_and_others_asked_once(void **state)
{
	static const struct {
		uint64_t word;
		const char *why;
		unsigned n_queries;
	} cases[] = {
		{HOST_POINTER, "host-pointer", 1},
		{MANAGED_POINTER, "managed-pointer", 1},
		{KGB_POOL_ADDRESS + KGB_POOL_BYTES - 1, NULL, 0},
		{KGB_ARENA_ADDRESS + KGB_ARENA_BYTES_MAX - 1, NULL, 0},
		{0xffff, NULL, 0},
		{UINT64_C(1) << 60, NULL, 0},
		{0x0000300100001000, NULL, 1}, /* two small numbers */
		{0x0000300100001000, NULL, 0},
		{HOST_POINTER, "host-pointer", 1}, /* never taken as harmless */
	};
	struct fixture *fx = *state;

	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		const struct kgb_window *w;

		gpu.n_pointer_queries = 0;
		launch(fx, FUNCTION, 0, cases[i].word, 0);
		w = window(fx);
		assert_int_equal(gpu.n_pointer_queries, cases[i].n_queries);
		assert_int_equal(w->n_ops, cases[i].why ? 2 : 1);
		if (cases[i].why)
			assert_string_equal(w->ops[0].why, cases[i].why);
		assert_int_equal(w->ops[w->n_ops - 1].kind, KGB_OP_LAUNCH);
	}
}

static void test_device_memory_that_was_not_seen_before_becomes_a_foreign_block(void **state)
{
	struct fixture *fx = *state;
	const struct kgb_window *w;

	launch(fx, FUNCTION, 0, DEVICE_POINTER, 0);
	w = window(fx);
	assert_int_equal(w->n_ops, 1);
	assert_int_equal(w->n_blocks, 1);
	assert_int_equal(w->blocks[0].address, DEVICE_POINTER - 0x1000);
	assert_int_equal(w->blocks[0].bytes, 0x2000);
	assert_true(w->blocks[0].foreign);
	gpu.n_pointer_queries = 0;
	launch(fx, FUNCTION, 0, DEVICE_POINTER + 8, 0);
	w = window(fx);
	assert_int_equal(gpu.n_pointer_queries, 0);
	assert_true(w->n_blocks == 1 && w->blocks[0].before);
}

static void test_variables_of_modules_are_named_wherever_they_are_used(void **state)
{
	const uint64_t global = UINT64_C(0x7f0000009000);
	struct fixture *fx = *state;

	kgb_address_table_put(&fx->tracer.globals, global, 64);
	launch(fx, FUNCTION, 0, global + 63, 0);
	assert_string_equal(window(fx)->ops[0].why, "module-global");
	kgb_tracer_copy(&fx->tracer, 0, global, KGB_POOL_ADDRESS, 4, "cuMemcpy");
	assert_string_equal(only_op(fx, KGB_OP_UNSUPPORTED)->why, "module-global");
}

static void test_attributes_keep_what_means_something_and_strange_ones_are_refused(void **state)
{
	struct fixture *fx = *state;
	CUlaunchAttribute attrs[9];
	struct kgb_launch_request request = {
		.function = HANDLE(CUfunction, KERNEL),
		.attrs = attrs,
	};
	uint64_t a = KGB_POOL_ADDRESS;
	void *values[] = {&a};
	const struct kgb_op *op;

	request.params = values;
	memset(attrs, 0xcc, sizeof(attrs)); /* what lies on a stack */
	attrs[0].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
	attrs[0].value.clusterDim.x = 2;
	attrs[0].value.clusterDim.y = attrs[0].value.clusterDim.z = 1;
	attrs[1].id = CU_LAUNCH_ATTRIBUTE_IGNORE;
	attrs[2].id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
	attrs[2].value.programmaticStreamSerializationAllowed = 1;
	request.n_attrs = 3;
	kgb_tracer_launch(&fx->tracer, 0, &request);
	op = only_op(fx, KGB_OP_LAUNCH);
	assert_int_equal(op->launch.n_attrs, 2);
	assert_int_equal(op->launch.attrs[0].id, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
	assert_int_equal(op->launch.attrs[0].value[0], 2);
	for (size_t i = 12; i < 64; i++)
		assert_int_equal(op->launch.attrs[0].value[i], 0);
	assert_int_equal(op->launch.attrs[1].value[0], 1);
	assert_int_equal(op->launch.attrs[1].value[4], 0);
	attrs[2].id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT;
	kgb_tracer_launch(&fx->tracer, 0, &request);
	assert_string_equal(only_op(fx, KGB_OP_UNSUPPORTED)->why, "launch attribute");
	for (size_t i = 0; i < KGB_ARRAY_LEN(attrs); i++)
		attrs[i].id = CU_LAUNCH_ATTRIBUTE_PRIORITY;
	request.n_attrs = KGB_ARRAY_LEN(attrs);
	kgb_tracer_launch(&fx->tracer, 0, &request);
	assert_string_equal(only_op(fx, KGB_OP_UNSUPPORTED)->why, "number of launch attributes");
}

static void test_the_carveout_is_asked_again_after_it_was_set(void **state)
{
	struct fixture *fx = *state;

	launch(fx, FUNCTION, 0, 0, 0);
	gpu.carveout = 75;
	launch(fx, FUNCTION, 0, 0, 0);
	kgb_functions_attribute_set(&fx->tracer.functions);
	launch(fx, FUNCTION, 0, 0, 0);
	gpu.carveout = -1;
	kgb_functions_get(&fx->tracer.functions, &fake, &fx->tracer.images, FUNCTION)->cache =
		CU_FUNC_CACHE_PREFER_SHARED;
	kgb_functions_attribute_set(&fx->tracer.functions);
	launch(fx, FUNCTION, 0, 0, 0);

	static const int want[] = {-1, -1, 75, 100};
	const struct kgb_window *w = window(fx);

	assert_int_equal(w->n_ops, KGB_ARRAY_LEN(want));
	for (size_t i = 0; i < KGB_ARRAY_LEN(want); i++)
		assert_int_equal(w->ops[i].launch.carveout, want[i]);
}

/* ---- Copies and memsets ---- */

static void test_copies_go_by_where_their_ends_are(void **state)
{
	static const char payload[] = "payload";
	struct fixture *fx = *state;
	const struct kgb_op *op;

	kgb_tracer_copy(&fx->tracer, 5, KGB_ARENA_ADDRESS, KGB_POOL_ADDRESS, 16, "cuMemcpy");
	op = only_op(fx, KGB_OP_COPY);
	assert_int_equal(op->copy.dst, KGB_ARENA_ADDRESS);
	assert_int_equal(op->copy.src, KGB_POOL_ADDRESS);
	assert_int_equal(op->copy.bytes, 16);
	assert_int_equal(op->stream, 5);
	kgb_tracer_copy(&fx->tracer, 0, KGB_POOL_ADDRESS, NUMBER(payload), sizeof(payload),
			"cuMemcpy");
	op = only_op(fx, KGB_OP_UPLOAD);
	assert_int_equal(op->upload.bytes, sizeof(payload));
	assert_memory_equal(op->upload.data, payload, sizeof(payload));
	kgb_tracer_copy(&fx->tracer, 0, HOST_POINTER, KGB_POOL_ADDRESS, 4, "cuMemcpy");
	op = only_op(fx, KGB_OP_DOWNLOAD);
	assert_int_equal(op->download.src, KGB_POOL_ADDRESS);
	kgb_tracer_copy(&fx->tracer, 0, HOST_POINTER, NUMBER(payload), 4, "cuMemcpy");
	assert_string_equal(only_op(fx, KGB_OP_UNSUPPORTED)->why, "cuMemcpy");
	kgb_tracer_copy(&fx->tracer, 0, KGB_POOL_ADDRESS, MANAGED_POINTER, 4, "cuMemcpy");
	assert_string_equal(only_op(fx, KGB_OP_UNSUPPORTED)->why, "managed-pointer");
	kgb_tracer_copy(&fx->tracer, 0, KGB_POOL_ADDRESS, NUMBER(payload), 0, "cuMemcpy");
	assert_int_equal(window(fx)->n_ops, 0);
}

static void test_memsets_are_of_device_memory(void **state)
{
	struct fixture *fx = *state;
	struct kgb_op op = {.kind = KGB_OP_MEMSET};

	op.memset.dst = KGB_POOL_ADDRESS;
	op.memset.element_bytes = 4;
	op.memset.width = 10;
	op.memset.height = 1;
	kgb_tracer_memset(&fx->tracer, &op, "cuMemsetD32");
	assert_int_equal(only_op(fx, KGB_OP_MEMSET)->memset.width, 10);
	op.memset.dst = HOST_POINTER;
	kgb_tracer_memset(&fx->tracer, &op, "cuMemsetD32");
	assert_string_equal(only_op(fx, KGB_OP_UNSUPPORTED)->why, "cuMemsetD32");
	op.memset.width = 0;
	kgb_tracer_memset(&fx->tracer, &op, "cuMemsetD32");
	assert_int_equal(window(fx)->n_ops, 0);
}

/* ---- Windows ---- */

static void test_live_blocks_are_listed_in_every_window_until_they_are_gone(void **state)
{
	struct fixture *fx = *state;
	const struct kgb_window *w;

	kgb_tracer_block(&fx->tracer, KGB_POOL_ADDRESS, 100, false);
	kgb_tracer_block(&fx->tracer, 0x70000000, 50, true);
	kgb_tracer_block(&fx->tracer, 0x70001000, 50, true);
	w = window(fx);
	assert_int_equal(w->n_blocks, 3);
	assert_false(w->blocks[0].before);
	kgb_tracer_block_gone(&fx->tracer, KGB_POOL_ADDRESS, false);
	kgb_tracer_block_gone(&fx->tracer, 0x70000000, true);
	w = window(fx);
	assert_int_equal(w->n_blocks, 3);
	assert_true(w->blocks[0].before && w->blocks[0].foreign);
	assert_true(w->blocks[2].before && !w->blocks[2].foreign);
	kgb_address_table_drop_from(&fx->tracer.foreign, 0x70000000, 0x2000);
	window(fx);
	assert_int_equal(window(fx)->n_blocks, 0);
}

static void test_what_spoils_the_process_spoils_every_window_from_then_on(void **state)
{
	static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i",
					    "j", "k", "l", "m", "n", "o", "p", "q"};
	struct fixture *fx = *state;

	kgb_tracer_stick(&fx->tracer, "cuIpcOpenMemHandle");
	kgb_tracer_stick(&fx->tracer, "cuIpcOpenMemHandle");
	assert_int_equal(window(fx)->n_ops, 2);
	assert_string_equal(only_op(fx, KGB_OP_UNSUPPORTED)->why, "cuIpcOpenMemHandle");
	for (size_t i = 0; i < KGB_ARRAY_LEN(names); i++)
		kgb_tracer_stick(&fx->tracer, names[i]);
	window(fx);
	assert_string_equal(only_op(fx, KGB_OP_UNSUPPORTED)->why,
			    "trace: too many kinds of unsupported calls");
}

/* ---- Graphs ---- */

static uint64_t graph_a = KGB_POOL_ADDRESS;
static void *graph_values[] = {&graph_a};

static struct node kernel_node(unsigned n_before, unsigned n_next)
{
	struct node node = {
		.type = CU_GRAPH_NODE_TYPE_KERNEL, .n_before = n_before, .n_next = n_next};

	node.kernel.kern = HANDLE(CUkernel, KERNEL);
	node.kernel.gridDimX = node.kernel.gridDimY = node.kernel.gridDimZ = 2;
	node.kernel.blockDimX = 32;
	node.kernel.kernelParams = graph_values;
	return node;
}

static struct node memset_node(unsigned n_before, unsigned n_next)
{
	struct node node = {
		.type = CU_GRAPH_NODE_TYPE_MEMSET, .n_before = n_before, .n_next = n_next};

	node.memset = (CUDA_MEMSET_NODE_PARAMS){KGB_POOL_ADDRESS, 0, 7, 1, 100, 1};
	return node;
}

static struct node copy_node(unsigned n_before, unsigned n_next)
{
	struct node node = {
		.type = CU_GRAPH_NODE_TYPE_MEMCPY, .n_before = n_before, .n_next = n_next};

	node.copy.srcMemoryType = node.copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
	node.copy.srcDevice = KGB_POOL_ADDRESS;
	node.copy.srcXInBytes = 16;
	node.copy.dstDevice = KGB_ARENA_ADDRESS;
	node.copy.WidthInBytes = 32;
	node.copy.Height = node.copy.Depth = 1;
	return node;
}

static const struct node last_node = {.type = -1};

static void instantiate(struct fixture *fx, uint64_t exec, struct node *nodes)
{
	kgb_graphs_instantiate(&fx->tracer, HANDLE(CUgraphExec, exec), (CUgraph)(void *)nodes);
}

static void test_a_chain_of_nodes_is_recorded_at_every_launch(void **state)
{
	struct node nodes[] = {kernel_node(0, 1), memset_node(1, 1), copy_node(1, 0), last_node};
	struct fixture *fx = *state;
	const struct kgb_window *w;

	instantiate(fx, 1, nodes);
	memset(nodes, 0xff, sizeof(nodes)); /* the graph may change now */
	assert_int_equal(window(fx)->n_ops, 0);
	for (unsigned i = 0; i < 2; i++) {
		kgb_graphs_launch(&fx->tracer, HANDLE(CUgraphExec, 1), 4 + i);
		w = window(fx);
		assert_int_equal(w->n_ops, 3);
		assert_int_equal(w->ops[0].kind, KGB_OP_LAUNCH);
		assert_string_equal(w->ops[0].launch.kernel, "kernel");
		assert_int_equal(w->ops[0].launch.attrs[0].id, CU_LAUNCH_ATTRIBUTE_COOPERATIVE);
		assert_int_equal(w->ops[1].kind, KGB_OP_MEMSET);
		assert_int_equal(w->ops[1].memset.value, 7);
		assert_int_equal(w->ops[2].copy.src, KGB_POOL_ADDRESS + 16);
		assert_int_equal(w->ops[2].copy.bytes, 32);
		assert_int_equal(w->ops[2].stream, 4 + i);
	}
	kgb_graphs_destroy(&fx->tracer, HANDLE(CUgraphExec, 1));
	kgb_graphs_launch(&fx->tracer, HANDLE(CUgraphExec, 1), 0);
	assert_string_equal(only_op(fx, KGB_OP_UNSUPPORTED)->why, "graph of unknown origin");
}

static void test_graphs_that_are_more_than_a_chain_are_named(void **state)
{
	struct node branch[] = {kernel_node(0, 2), kernel_node(1, 0), kernel_node(1, 0), last_node};
	struct node roots[] = {kernel_node(0, 1), kernel_node(1, 0), kernel_node(0, 0), last_node};
	struct node join[] = {kernel_node(0, 1), kernel_node(2, 0), last_node};
	struct node edge[] = {kernel_node(0, 1), kernel_node(1, 0), last_node};
	struct node host[] = {kernel_node(0, 1), kernel_node(1, 0), last_node};
	struct node upload[] = {copy_node(0, 0), last_node};
	struct node two_d[] = {copy_node(0, 0), last_node};
	struct node unknown[] = {kernel_node(0, 0), last_node};
	const struct {
		struct node *nodes;
		const char *why;
	} cases[] = {
		{branch, "graph that is no chain"},
		{roots, "graph that is no chain"},
		{join, "graph that is no chain"},
		{edge, "graph with programmatic edges"},
		{host, "graph host node"},
		{upload, "graph copy that is not plain"},
		{two_d, "graph copy that is not plain"},
		{unknown, "kernel handle"},
	};
	struct fixture *fx = *state;

	edge[0].edge_type = 1;
	host[1].type = CU_GRAPH_NODE_TYPE_HOST;
	upload[0].copy.srcMemoryType = CU_MEMORYTYPE_HOST;
	two_d[0].copy.Height = 2;
	unknown[0].kernel.kern = HANDLE(CUkernel, 0x5555);
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		instantiate(fx, 1, cases[i].nodes);
		kgb_graphs_launch(&fx->tracer, HANDLE(CUgraphExec, 1), 0);
		assert_string_equal(only_op(fx, KGB_OP_UNSUPPORTED)->why, cases[i].why);
	}
}

static void test_a_graph_that_was_changed_or_lost_its_image_is_named(void **state)
{
	struct node nodes[] = {kernel_node(0, 0), last_node};
	struct fixture *fx = *state;

	instantiate(fx, 1, nodes);
	instantiate(fx, 2, nodes);
	kgb_graphs_spoil(&fx->tracer, HANDLE(CUgraphExec, 1), "changed");
	kgb_graphs_launch(&fx->tracer, HANDLE(CUgraphExec, 1), 0);
	assert_string_equal(only_op(fx, KGB_OP_UNSUPPORTED)->why, "changed");
	kgb_images_unload(&fx->tracer.images, LIBRARY);
	kgb_graphs_launch(&fx->tracer, HANDLE(CUgraphExec, 2), 0);
	assert_string_equal(only_op(fx, KGB_OP_UNSUPPORTED)->why,
			    "kernel of an image that is gone");
}

int main(void)
{
#define TRACER_TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	const struct CMUnitTest tests[] = {
		TRACER_TEST(test_a_launch_has_its_image_name_layout_and_geometry),
		TRACER_TEST(test_a_kernel_handle_and_its_function_lead_to_the_librarys_image),
		TRACER_TEST(test_the_driver_is_asked_once_until_the_image_is_unloaded),
		TRACER_TEST(test_launches_that_cannot_be_recorded_are_named),
		TRACER_TEST(test_parameters_that_point_to_the_host_are_named_and_others_asked_once),
		TRACER_TEST(test_device_memory_that_was_not_seen_before_becomes_a_foreign_block),
		TRACER_TEST(test_variables_of_modules_are_named_wherever_they_are_used),
		TRACER_TEST(test_attributes_keep_what_means_something_and_strange_ones_are_refused),
		TRACER_TEST(test_the_carveout_is_asked_again_after_it_was_set),
		TRACER_TEST(test_copies_go_by_where_their_ends_are),
		TRACER_TEST(test_memsets_are_of_device_memory),
		TRACER_TEST(test_live_blocks_are_listed_in_every_window_until_they_are_gone),
		TRACER_TEST(test_what_spoils_the_process_spoils_every_window_from_then_on),
		TRACER_TEST(test_a_chain_of_nodes_is_recorded_at_every_launch),
		TRACER_TEST(test_graphs_that_are_more_than_a_chain_are_named),
		TRACER_TEST(test_a_graph_that_was_changed_or_lost_its_image_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
