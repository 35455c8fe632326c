/* SPDX-License-Identifier: MIT */
/** \file
 * Checks that the spec's interfaces agree with the spec's schemas, and those with the schemas that
 * torch has registered. verify/python/reference/schema.py compares. */
#include "base/formats/jsonw.h"
#include "base/time.h"
#include "verify/lint/lint_parts.h"

enum { ANSWER_MS = 120 * 1000 };

static bool is_written(const struct kgb_interface *interface, const struct kgb_param *param)
{
	for (size_t i = 0; param->into && i < interface->n_params; i++)
		if (kgb_str_eq(interface->params[i].name, param->into))
			return interface->params[i].result >= 0;
	return param->result >= 0;
}

/* The same for a parameter as callers pass it: a list is written to if any of its tensors is. */
static bool is_called_written(const struct kgb_interface *interface, const struct kgb_param *param)
{
	bool written = is_written(interface, param);

	for (size_t i = 0; i < interface->n_params; i++)
		if (kgb_str_eq(interface->params[i].list, param->name))
			written |= is_written(interface, &interface->params[i]);
	return written;
}

/* Whether a caller of the entry may pass None: another interface of the entry may leave the
 * parameter out, or its tensor may be null. */
static bool may_be_absent(const struct kgb_spec *spec, const struct kgb_interface *interface,
			  const struct kgb_param *param)
{
	for (size_t i = 0; i < spec->n_interfaces; i++)
		if (&spec->interfaces[i] != interface &&
		    kgb_str_eq(spec->interfaces[i].entry, interface->entry))
			return true;
	return param->kind == KGB_PARAM_TENSOR && cJSON_IsNull(param->shape);
}

static void write_params(struct kgb_jsonw *w, const struct kgb_spec *spec,
			 const struct kgb_interface *interface)
{
	static const char *const kinds[] = {[KGB_PARAM_TENSOR] = "tensor",
					    [KGB_PARAM_OUT] = "out",
					    [KGB_PARAM_VALUE] = "value"};
	struct kgb_param params[KGB_MAX_ARGS];
	size_t n = kgb_interface_called_params(interface, params);

	kgb_jsonw_put(w, "params: [");
	for (size_t i = 0; i < n; i++) {
		kgb_jsonw_put(w, "{name: %s, kind: %s, keyword: %hhd, list: %hhd", params[i].name,
			      kinds[params[i].kind], params[i].keyword,
			      (bool)(params[i].list != NULL));
		kgb_jsonw_put(w, "written: %hhd, absent: %hhd}",
			      is_called_written(interface, &params[i]),
			      may_be_absent(spec, interface, &params[i]));
	}
	kgb_jsonw_array_end(w);
}

/* Name of the parameter in which a caller finds the result; NULL: in none. */
static const char *holder(const struct kgb_interface *interface, size_t result)
{
	for (size_t i = 0; i < interface->n_params; i++) {
		const struct kgb_param *param = &interface->params[i];
		if (param->result != (int)result)
			continue;
		for (size_t k = 0; param->is_behind && k < i; k++)
			if (kgb_str_eq(interface->params[k].into, param->name))
				return interface->params[k].name;
		return param->name;
	}
	return NULL;
}

static void write_question(const struct kgb_spec *spec, const struct kgb_interface *interface,
			   struct kgb_buf *out)
{
	const bool is_aten = kgb_str_starts(interface->target, "aten:");
	struct kgb_jsonw w;

	kgb_jsonw_init(&w, out, 0);
	kgb_jsonw_put(&w, "{op: 'schema', operator: %s, source: %s, entry: %s, schema: %s",
		      spec->name, spec->source, interface->entry, interface->schema);
	kgb_jsonw_put(&w, "target: %s, nones: %ld, returned: [",
		      is_aten ? interface->target + strlen("aten:") : NULL,
		      (int64_t)interface->n_nones);
	for (size_t i = 0; i < interface->n_returned; i++)
		kgb_jsonw_str(&w, holder(interface, i));
	kgb_jsonw_array_end(&w);
	write_params(&w, spec, interface);
	kgb_jsonw_object_end(&w);
}

static int lint_schema(struct kgb_lint *lint, const struct kgb_interface *interface,
		       struct kgb_err *err)
{
	struct kgb_worker *worker = &lint->lane.reference->worker;
	KGB_AUTO(buf) struct kgb_buf question = KGB_BUF_INIT(KGB_WIRE_REQUEST_MAX);
	KGB_AUTO(strv) struct kgb_strv lines = KGB_STRV_INIT;
	KGB_AUTO(free) struct kgb_wire_reply *reply = kgb_xmalloc(sizeof(*reply));

	write_question(&lint->judge.spec, interface, &question);
	if (kgb_worker_send(worker, question.ptr, NULL, 0, err) < 0 ||
	    kgb_worker_await(worker, kgb_mono_ms() + ANSWER_MS, interface->entry, reply, err) < 0)
		return -1;
	kgb_strv_split(&lines, reply->text, '\n');
	for (size_t i = 0; i < lines.n; i++)
		kgb_lint_note(lint->report, "schema", "%s: %s", interface->entry, lines.items[i]);
	return 0;
}

int kgb_lint_schemas(struct kgb_lint *lint, struct kgb_err *err)
{
	for (size_t i = 0; i < lint->judge.spec.n_interfaces; i++)
		if (lint_schema(lint, &lint->judge.spec.interfaces[i], err) < 0)
			return -1;
	return 0;
}
