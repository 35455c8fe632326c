/* SPDX-License-Identifier: MIT */
#include "agent/run/run_specs.h"

#include "base/mem.h"

void kgb_specs_free(struct kgb_spec *specs, size_t n)
{
	for (size_t i = 0; i < n; i++)
		kgb_spec_release(&specs[i]);
	kgb_free(specs);
}

int kgb_run_specs_load(struct kgb_cli *cli, const struct kgb_run_state *state,
		       kgb_op_filter_fn wanted, const void *payload, struct kgb_spec **specs,
		       size_t *n, struct kgb_err *err)
{
	const struct kgb_spec_index *index = NULL;
	int rc = 0;

	*n = 0;
	*specs = NULL;
	if (kgb_cli_index(cli, state->dataset, &index, err) < 0)
		return -1;
	*specs = kgb_xcalloc(state->n_ops + 1, sizeof(**specs));
	for (size_t i = 0; i < state->n_ops && rc == 0; i++) {
		const char *name = NULL, *path = NULL;
		if (!wanted(&state->ops[i], payload))
			continue;
		rc = kgb_spec_index_find(index, state->ops[i].name, &name, &path, err);
		if (rc == 0)
			rc = kgb_spec_load(path, &(*specs)[*n], err);
		*n += rc == 0;
	}
	return rc < 0 ? -1 : 0;
}
