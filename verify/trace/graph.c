/* SPDX-License-Identifier: MIT */
#include "verify/trace/graph.h"

#include <string.h>

#include "base/mem.h"

#define NODES_MAX 65536

struct kgb_graph {
	const char *why; /* static text: why the graph cannot be recorded; NULL: it can */
	struct kgb_op *ops; /* in the arena, as is what they point to */
	size_t n_ops;
	struct kgb_arena arena;
};

/* ---- One node ---- */

/* Attributes that change what a kernel node does. Returns their number. */
static unsigned node_attrs(const struct kgb_cuda *cu, CUgraphNode node, CUlaunchAttribute out[2])
{
	static const CUlaunchAttributeID ids[] = {CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
						  CU_LAUNCH_ATTRIBUTE_COOPERATIVE};
	unsigned n = 0;

	for (size_t i = 0; i < KGB_ARRAY_LEN(ids); i++) {
		CUlaunchAttributeValue value;

		memset(&value, 0, sizeof(value));
		if (cu->cuGraphKernelNodeGetAttribute(node, ids[i], &value) != CUDA_SUCCESS)
			continue;
		if (ids[i] == CU_LAUNCH_ATTRIBUTE_COOPERATIVE
			    ? !value.cooperative
			    : value.clusterDim.x * value.clusterDim.y * value.clusterDim.z <= 1)
			continue;
		out[n].id = ids[i];
		out[n++].value = value;
	}
	return n;
}

static const char *build_kernel(struct kgb_tracer *tracer, CUgraphNode node,
				struct kgb_arena *arena, struct kgb_op *op)
{
	CUDA_KERNEL_NODE_PARAMS params;
	CUlaunchAttribute attrs[2];
	const char *why;

	memset(&params, 0, sizeof(params));
	if (tracer->cu->cuGraphKernelNodeGetParams(node, &params) != CUDA_SUCCESS)
		return "graph kernel node";

	const struct kgb_launch_request request = {
		.function = params.func ? params.func : (CUfunction)(void *)params.kern,
		.grid = {params.gridDimX, params.gridDimY, params.gridDimZ},
		.block = {params.blockDimX, params.blockDimY, params.blockDimZ},
		.shared_bytes = params.sharedMemBytes,
		.params = params.kernelParams,
		.extra = params.extra,
		.attrs = attrs,
		.n_attrs = node_attrs(tracer->cu, node, attrs),
	};

	if (!request.function)
		return "graph kernel node";
	why = kgb_tracer_build_launch(tracer, &request, tracer->params, op);
	if (why)
		return why;

	unsigned char *copy = kgb_arena_alloc(arena, op->launch.params_bytes + 1u);

	memcpy(copy, op->launch.params, op->launch.params_bytes);
	op->launch.params = copy;
	op->launch.kernel = kgb_arena_strdup(arena, op->launch.kernel);
	return NULL;
}

static const char *build_memset(const struct kgb_cuda *cu, CUgraphNode node, struct kgb_op *op)
{
	CUDA_MEMSET_NODE_PARAMS params;

	memset(&params, 0, sizeof(params));
	if (cu->cuGraphMemsetNodeGetParams(node, &params) != CUDA_SUCCESS)
		return "graph memset node";
	*op = (struct kgb_op){.kind = KGB_OP_MEMSET};
	op->memset.dst = params.dst;
	op->memset.pitch = params.pitch;
	op->memset.value = params.value;
	op->memset.element_bytes = params.elementSize;
	op->memset.width = params.width;
	op->memset.height = params.height;
	return NULL;
}

/* False when one side of a copy is not at a plain device address. */
static bool side_address(CUmemorytype type, CUdeviceptr device, size_t x, size_t y, size_t z,
			 uint64_t *address)
{
	if ((type != CU_MEMORYTYPE_DEVICE && type != CU_MEMORYTYPE_UNIFIED) || y || z)
		return false;
	*address = device + x;
	return true;
}

static const char *build_copy(struct kgb_tracer *tracer, CUgraphNode node, struct kgb_op *op)
{
	CUDA_MEMCPY3D params;
	uint64_t dst, src;

	memset(&params, 0, sizeof(params));
	if (tracer->cu->cuGraphMemcpyNodeGetParams(node, &params) != CUDA_SUCCESS)
		return "graph copy node";
	if (params.Height > 1 || params.Depth > 1 ||
	    !side_address(params.srcMemoryType, params.srcDevice, params.srcXInBytes, params.srcY,
			  params.srcZ, &src) ||
	    !side_address(params.dstMemoryType, params.dstDevice, params.dstXInBytes, params.dstY,
			  params.dstZ, &dst) ||
	    kgb_tracer_place(tracer, src) != KGB_SPACE_DEVICE ||
	    kgb_tracer_place(tracer, dst) != KGB_SPACE_DEVICE)
		return "graph copy that is not plain";
	*op = (struct kgb_op){.kind = KGB_OP_COPY};
	op->copy.dst = dst;
	op->copy.src = src;
	op->copy.bytes = params.WidthInBytes;
	return NULL;
}

static const char *const unsupported[] = {
	[CU_GRAPH_NODE_TYPE_HOST] = "graph host node",
	[CU_GRAPH_NODE_TYPE_GRAPH] = "graph in a graph",
	[CU_GRAPH_NODE_TYPE_CONDITIONAL] = "graph conditional node",
	[CU_GRAPH_NODE_TYPE_MEM_ALLOC] = "graph memory node",
	[CU_GRAPH_NODE_TYPE_MEM_FREE] = "graph memory node",
	[CU_GRAPH_NODE_TYPE_WAIT_EVENT] = "graph event node",
	[CU_GRAPH_NODE_TYPE_EVENT_RECORD] = "graph event node",
};

static const char *build_node(struct kgb_tracer *tracer, CUgraphNode node, struct kgb_graph *graph)
{
	CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
	struct kgb_op *op = &graph->ops[graph->n_ops];
	const char *why;

	if (tracer->cu->cuGraphNodeGetType(node, &type) != CUDA_SUCCESS)
		return "graph node";
	if (type == CU_GRAPH_NODE_TYPE_EMPTY)
		return NULL;
	if (type == CU_GRAPH_NODE_TYPE_KERNEL)
		why = build_kernel(tracer, node, &graph->arena, op);
	else if (type == CU_GRAPH_NODE_TYPE_MEMSET)
		why = build_memset(tracer->cu, node, op);
	else if (type == CU_GRAPH_NODE_TYPE_MEMCPY)
		why = build_copy(tracer, node, op);
	else
		why = (size_t)type < KGB_ARRAY_LEN(unsupported) && unsupported[type]
			      ? unsupported[type]
			      : "graph node of another type";
	if (!why)
		graph->n_ops++;
	return why;
}

/* ---- The chain ---- */

static const struct CUgraphEdgeData_st plain_edge;

/* The node behind `node`, or NULL when it is the last. */
static const char *next_node(const struct kgb_cuda *cu, CUgraphNode node, CUgraphNode *next)
{
	CUgraphEdgeData edge = plain_edge;
	CUgraphNode found = NULL;
	size_t n = 0;

	*next = NULL;
	if (cu->cuGraphNodeGetDependentNodes(node, NULL, NULL, &n) != CUDA_SUCCESS)
		return "graph edges";
	if (n == 0)
		return NULL;
	if (n > 1)
		return "graph that is no chain";
	if (cu->cuGraphNodeGetDependentNodes(node, &found, &edge, &n) != CUDA_SUCCESS || n != 1)
		return "graph edges";
	if (memcmp(&edge, &plain_edge, sizeof(edge)) != 0)
		return "graph with programmatic edges";
	*next = found;
	return NULL;
}

static const char *find_first(const struct kgb_cuda *cu, const CUgraphNode *nodes, size_t n,
			      CUgraphNode *first)
{
	*first = NULL;
	for (size_t i = 0; i < n; i++) {
		size_t n_before = 0;

		if (cu->cuGraphNodeGetDependencies(nodes[i], NULL, NULL, &n_before) != CUDA_SUCCESS)
			return "graph edges";
		if (n_before > 1 || (n_before == 0 && *first))
			return "graph that is no chain";
		if (n_before == 0)
			*first = nodes[i];
	}
	return NULL;
}

/* NULL, or why the graph cannot be recorded. */
static const char *build(struct kgb_tracer *tracer, CUgraph from, struct kgb_graph *graph)
{
	const struct kgb_cuda *cu = tracer->cu;
	CUgraphNode node = NULL;
	const char *why;
	size_t n = 0, visited;

	if (cu->cuGraphGetNodes(from, NULL, &n) != CUDA_SUCCESS)
		return "graph nodes";
	if (n == 0)
		return NULL;
	if (n > NODES_MAX)
		return "graph with too many nodes";

	/* NOLINTNEXTLINE(bugprone-sizeof-expression): handles are pointers */
	KGB_AUTO(free) CUgraphNode *nodes = kgb_xcalloc(n, sizeof(*nodes));

	if (cu->cuGraphGetNodes(from, nodes, &n) != CUDA_SUCCESS)
		return "graph nodes";
	graph->ops = kgb_arena_array(&graph->arena, n, sizeof(graph->ops[0]));
	why = find_first(cu, nodes, n, &node);
	for (visited = 0; !why && node && visited < n; visited++) {
		why = build_node(tracer, node, graph);
		if (!why)
			why = next_node(cu, node, &node);
	}
	if (!why && (visited != n || node))
		why = "graph that is no chain";
	return why;
}

static struct kgb_graph *find(const struct kgb_tracer *tracer, CUgraphExec exec)
{
	const struct kgb_entry *known =
		kgb_address_table_find(&tracer->graphs, (uint64_t)(uintptr_t)exec);

	return known ? (struct kgb_graph *)(uintptr_t)known->value : NULL;
}

static void graph_free(struct kgb_graph *graph)
{
	kgb_arena_release(&graph->arena);
	kgb_free(graph);
}

void kgb_graphs_instantiate(struct kgb_tracer *tracer, CUgraphExec exec, CUgraph graph)
{
	struct kgb_graph *fresh = kgb_xcalloc(1, sizeof(*fresh));

	kgb_graphs_destroy(tracer, exec);
	fresh->why = build(tracer, graph, fresh);
	kgb_address_table_put(&tracer->graphs, (uint64_t)(uintptr_t)exec,
			      (uint64_t)(uintptr_t)fresh);
}

void kgb_graphs_spoil(struct kgb_tracer *tracer, CUgraphExec exec, const char *why)
{
	struct kgb_graph *graph = find(tracer, exec);

	if (graph)
		graph->why = why;
}

void kgb_graphs_destroy(struct kgb_tracer *tracer, CUgraphExec exec)
{
	struct kgb_graph *graph = find(tracer, exec);

	if (!graph)
		return;
	kgb_address_table_drop(&tracer->graphs, (uint64_t)(uintptr_t)exec);
	graph_free(graph);
}

void kgb_graphs_launch(struct kgb_tracer *tracer, CUgraphExec exec, uint64_t stream)
{
	const struct kgb_graph *graph = find(tracer, exec);

	if (!graph || graph->why) {
		kgb_recorder_unsupported(&tracer->recorder, stream,
					 graph ? graph->why : "graph of unknown origin");
		return;
	}
	for (size_t i = 0; i < graph->n_ops; i++) {
		struct kgb_op op = graph->ops[i];

		op.stream = stream;
		kgb_tracer_emit(tracer, &op);
	}
}

void kgb_graphs_release(struct kgb_address_table *graphs)
{
	for (size_t i = 0; i < graphs->n; i++)
		graph_free((struct kgb_graph *)(uintptr_t)graphs->items[i].value);
	kgb_address_table_release(graphs);
}
