/* SPDX-License-Identifier: MIT */
/** \file
 * Private to the loader of specs. spec.c reads the whole, spec_interface.c the interfaces and their
 * parameters, spec_random_results.c laws, spec_sets.c the case sets, spec_names.c checks the
 * spelling of names.
 */
#ifndef KGB_VERIFY_SPEC_SPEC_LOADER_H
#define KGB_VERIFY_SPEC_SPEC_LOADER_H

#include <stddef.h>

#include "base/formats/decode.h"
#include "verify/spec/spec.h"

struct kgb_spec_loader {
	struct kgb_spec *spec; /* being filled */
	kgb_spec_read_fn reader;
	void *payload;
	const char *file; /* name of the spec file, and: */
	char *dir; /* owned; its folder */
	struct kgb_buf evidence; /* "<kind> <name> <sha256>\n" of every file: kgb_spec.sha256 is the
				    hash of this text */
	struct kgb_err *err;
};

/** Fail at a node of the spec's own document. */
#define fail_at(l, node, ...) kgb_yaml_fail(&(l)->spec->doc, (node), (l)->err, __VA_ARGS__)

/** Read a file into *text and note its hash as evidence. */
KGB_MUST_CHECK int kgb_spec__read(struct kgb_spec_loader *l, const char *kind, const char *name,
				  const char *path, struct kgb_buf *text);
/** None of these keys (NULL-terminated) of a mapping may be blank text. */
KGB_MUST_CHECK int kgb_spec__check_texts(struct kgb_spec_loader *l, const cJSON *node,
					 const char *const *keys);
/** Check that all dtypes are known, that there is at least one, and that none is listed twice.
 * `list` is their node in `doc`. */
KGB_MUST_CHECK int kgb_spec__check_dtypes(const struct kgb_yaml *doc, const cJSON *list,
					  const struct kgb_strs *dtypes, struct kgb_err *err);
KGB_MUST_CHECK int kgb_spec__load_interfaces(struct kgb_spec_loader *l, const cJSON *list,
					     const cJSON *tolerance);
/** The distributions of an interface's results, from `laws` of its spec. Load its parameters
 * first. */
KGB_MUST_CHECK int kgb_spec__load_random_results(struct kgb_spec_loader *l, const cJSON *list,
						 struct kgb_interface *out);
/** The case sets of all interfaces, each read once. */
KGB_MUST_CHECK int kgb_spec__load_sets(struct kgb_spec_loader *l);

bool kgb_spec__is_identifier(const char *s);
bool kgb_spec__is_operator_name(const char *s);
bool kgb_spec__is_python_target(const char *s);
bool kgb_spec__is_aten_target(const char *s);
bool kgb_spec__is_case_id(const char *s);

#endif
