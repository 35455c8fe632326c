/* SPDX-License-Identifier: MIT */
#include "methods/program.h"

#include <ctype.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/utsname.h>

#include "base/str.h"
#include "base/system/fs.h"

static const char *const protocol_names[] = {"anthropic", "chat", "responses", "any", NULL};
_Static_assert(KGB_ARRAY_LEN(protocol_names) == KGB_N_PROTOCOLS + 2,
	       "one name a protocol, and any");
static const char *const usage_names[] = {"reported", "none", NULL};

#define FIELD(member, kind, ...)                                         \
	{                                                                \
		KGB_FIELD(struct kgb_program, member, kind), __VA_ARGS__ \
	}
static const struct kgb_field program_fields[] = {
	FIELD(name, STR, .required = true, .doc = "As methods name it; equals the file's name"),
	FIELD(title, STR, .required = true, .doc = "As people call it"),
	FIELD(install, STR, .required = true, .doc = "What to do when it is missing"),
	FIELD(binaries, MAP, .doc = "Its executable below .deps/cli/NAME, by machine (uname -m)"),
	FIELD(version_argv, STRS, .doc = "Arguments that make it print its version"),
	FIELD(tested_from, STR, .def = "\"\"",
	      .doc = "Oldest version that this project was tested with"),
	FIELD(tested_to, STR, .def = "\"\"", .doc = "Newest such version"),
	FIELD(builtin, BOOL, .def = "false", .doc = "kgb-agent itself asks the model"),
	FIELD(protocol, ENUM, .names = protocol_names, .required = true,
	      .doc = "What it speaks with the model"),
	FIELD(adapter, STR, .required = true, .doc = "Reader of its event stream"),
	FIELD(usage, ENUM, .names = usage_names, .required = true,
	      .doc = "Whether it counts tokens itself"),
	FIELD(least_tokens, I64, .min = 0, .max = 1 << 30, .def = "0",
	      .doc = "Tokens that the gateway reserves at least for one of its requests: half the bytes of its instructions and tools, and the most that it lets the model answer"),
	FIELD(argv, STRS, .doc = "Its arguments, unless the method gives its own"),
	FIELD(env, MAP, .doc = "Environment, besides HOME, PATH, TMPDIR and LANG"),
	KGB_FIELD_END,
};
#undef FIELD

static int check(const struct kgb_program *program, const char *name, const char *path,
		 struct kgb_err *err)
{
	bool has_version = program->version_argv.n > 0;
	if (!kgb_str_eq(program->name, name))
		return kgb_fail(err, KGB_ERR_INVALID,
				"%s: name: '%s' must equal the file's name '%s'", path,
				program->name, name);
	if (has_version && (!*program->tested_from || !*program->tested_to))
		return kgb_fail(err, KGB_ERR_INVALID,
				"%s: version_argv needs tested_from and tested_to", path);
	if (has_version && kgb_version_compare(program->tested_from, program->tested_to) > 0)
		return kgb_fail(err, KGB_ERR_INVALID,
				"%s: tested_from: '%s' is newer than tested_to '%s'", path,
				program->tested_from, program->tested_to);
	return 0;
}

int kgb_program_load(const char *data_dir, const char *name, struct kgb_arena *arena,
		     struct kgb_program *out, struct kgb_err *err)
{
	KGB_AUTO(free)
	char *path = kgb_xasprintf("%s/methods/data/program/%s.yaml", data_dir, name);
	KGB_AUTO(yaml) struct kgb_yaml doc = KGB_YAML_INIT;
	struct kgb_program program = {0};
	if (!kgb_fs_exists(AT_FDCWD, path))
		return kgb_fail(err, KGB_ERR_NOT_FOUND, "cli: '%s': there is no '%s'", name, path);
	kgb_decode_defaults(program_fields, &program, arena);
	if (kgb_yaml_read(AT_FDCWD, path, &doc, err) < 0 ||
	    kgb_decode(program_fields, &doc, doc.root, &program, arena, err) < 0 ||
	    check(&program, name, path, err) < 0)
		return -1;
	*out = program;
	return 0;
}

char *kgb_program_installed(const struct kgb_program *program)
{
	struct utsname machine;
	if (uname(&machine) < 0)
		return NULL;
	for (size_t i = 0; i < program->binaries.n; i++)
		if (kgb_str_eq(program->binaries.keys[i], machine.machine))
			return kgb_xasprintf("cli/%s/%s", program->name,
					     program->binaries.values[i]);
	return NULL;
}

unsigned kgb_program_protocols(const struct kgb_program *program)
{
	return program->protocol == KGB_N_PROTOCOLS ? KGB_PROTOCOLS_ALL
						    : KGB_PROTOCOL_BIT((unsigned)program->protocol);
}

/* ---- versions ---- */

void kgb_version_find(const char *text, char out[KGB_VERSION_LEN])
{
	*out = '\0';
	for (const char *at = text; *at;) {
		size_t len = strcspn(at, " \t\r\n");
		bool digit = isdigit((unsigned char)*at) && memchr(at, '.', len);
		if (digit && len < KGB_VERSION_LEN) {
			snprintf(out, KGB_VERSION_LEN, "%.*s", (int)len, at);
			return;
		}
		at += len;
		at += strspn(at, " \t\r\n");
	}
}

/* The number at `*at`, which is left behind the dot after it. */
static int64_t next_number(const char **at)
{
	int64_t n = 0;
	for (; isdigit((unsigned char)**at); (*at)++)
		n = n < INT32_MAX ? n * 10 + (**at - '0') : n;
	*at += strcspn(*at, ".");
	*at += **at == '.';
	return n;
}

int kgb_version_compare(const char *a, const char *b)
{
	while (*a || *b) {
		int64_t x = next_number(&a), y = next_number(&b);
		if (x != y)
			return x < y ? -1 : 1;
	}
	return 0;
}

bool kgb_program_tested(const struct kgb_program *program, const char *version)
{
	if (program->version_argv.n == 0)
		return true;
	return *version && kgb_version_compare(program->tested_from, version) <= 0 &&
	       kgb_version_compare(version, program->tested_to) <= 0;
}
