/* SPDX-License-Identifier: MIT */
/** \file
 * The ops of executable CUDA graphs, read when a graph is made, because the graph may be changed or
 * gone when it is launched. Only chains of kernels, memsets and plain copies on the device are
 * supported.
 */
#ifndef KGB_VERIFY_TRACE_GRAPH_H
#define KGB_VERIFY_TRACE_GRAPH_H

#include "verify/trace/tracer.h"

/** `exec` was made from `graph`, which still exists. */
void kgb_graphs_instantiate(struct kgb_tracer *tracer, CUgraphExec exec, CUgraph graph);
/** From now on launches of `exec` are unsupported for this reason (static text). */
void kgb_graphs_spoil(struct kgb_tracer *tracer, CUgraphExec exec, const char *why);
void kgb_graphs_destroy(struct kgb_tracer *tracer, CUgraphExec exec);
/** Record what a launch of `exec` puts on a stream. */
void kgb_graphs_launch(struct kgb_tracer *tracer, CUgraphExec exec, uint64_t stream);
void kgb_graphs_release(struct kgb_address_table *graphs);

#endif
