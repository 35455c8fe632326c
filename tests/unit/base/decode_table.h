/* SPDX-License-Identifier: MIT */
/** \file
 * A table with every kind of field, for the tests of decode.h.
 */
#ifndef KGB_TESTS_UNIT_BASE_DECODE_TABLE_H
#define KGB_TESTS_UNIT_BASE_DECODE_TABLE_H

#include "base/formats/decode.h"

struct limits {
	int64_t wall_ms;
	int64_t memory_bytes;
	double ratio;
};

struct method {
	const char *name;
	int64_t rounds;
	struct kgb_field_map env;
};

enum speed { SPEED_SLOW, SPEED_NORMAL, SPEED_FAST };

struct settings {
	bool verify;
	int64_t devices;
	const char *model;
	const char *note;
	int speed;
	struct limits limits;
	struct kgb_strs args;
	struct kgb_field_map env;
	struct kgb_objects methods;
	const cJSON *extra;
};

static const char *const speed_names[] = {"slow", "normal", "fast", NULL};

static const struct kgb_field limits_table[] = {
	{.name = "wall",
	 .type = KGB_FIELD_DURATION,
	 .offset = offsetof(struct limits, wall_ms),
	 .min = 1000,
	 .max = 3600000,
	 .def = "10m",
	 .doc = "Wall time of one attempt."},
	{.name = "memory",
	 .type = KGB_FIELD_SIZE,
	 .offset = offsetof(struct limits, memory_bytes),
	 .min = 1 << 20,
	 .def = "64MiB",
	 .doc = "Memory of one attempt."},
	{.name = "ratio",
	 .type = KGB_FIELD_NUM,
	 .offset = offsetof(struct limits, ratio),
	 .min = -1,
	 .max = 2,
	 .def = "0.5",
	 .doc = "A ratio."},
	KGB_FIELD_END,
};

static const struct kgb_field method_table[] = {
	{.name = "name",
	 .type = KGB_FIELD_STR,
	 .offset = offsetof(struct method, name),
	 .required = true,
	 .doc = "Name."},
	{.name = "rounds",
	 .type = KGB_FIELD_I64,
	 .offset = offsetof(struct method, rounds),
	 .min = 1,
	 .def = "3",
	 .doc = "Rounds."},
	{.name = "env", .type = KGB_FIELD_MAP, .offset = offsetof(struct method, env)},
	KGB_FIELD_END,
};

static const struct kgb_field settings_table[] = {
	{.name = "verify",
	 .type = KGB_FIELD_BOOL,
	 .offset = offsetof(struct settings, verify),
	 .def = "true",
	 .doc = "Run the judge."},
	{.name = "devices",
	 .type = KGB_FIELD_I64,
	 .offset = offsetof(struct settings, devices),
	 .min = 1,
	 .max = 64,
	 .def = "1",
	 .doc = "Number of devices."},
	{.name = "model",
	 .type = KGB_FIELD_STR,
	 .offset = offsetof(struct settings, model),
	 .def = "default: model",
	 .doc = "Model name."},
	{.name = "note",
	 .type = KGB_FIELD_STR,
	 .offset = offsetof(struct settings, note),
	 .doc = "Free text."},
	{.name = "speed",
	 .type = KGB_FIELD_ENUM,
	 .offset = offsetof(struct settings, speed),
	 .names = speed_names,
	 .def = "normal",
	 .doc = "How fast."},
	{.name = "limits",
	 .type = KGB_FIELD_OBJECT,
	 .offset = offsetof(struct settings, limits),
	 .sub = limits_table,
	 .doc = "Limits of one attempt."},
	{.name = "args",
	 .type = KGB_FIELD_STRS,
	 .offset = offsetof(struct settings, args),
	 .def = "[-x, 'a b']",
	 .doc = "Extra arguments."},
	{.name = "env",
	 .type = KGB_FIELD_MAP,
	 .offset = offsetof(struct settings, env),
	 .def = "{A: 1}",
	 .doc = "Environment."},
	{.name = "methods",
	 .type = KGB_FIELD_OBJECTS,
	 .offset = offsetof(struct settings, methods),
	 .sub = method_table,
	 .sub_size = sizeof(struct method),
	 .doc = "Methods."},
	{.name = "extra",
	 .type = KGB_FIELD_NODE,
	 .offset = offsetof(struct settings, extra),
	 .doc = "Anything."},
	KGB_FIELD_END,
};

#endif
