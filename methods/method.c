/* SPDX-License-Identifier: MIT */
#include "methods/method.h"

#include <ctype.h>
#include <fcntl.h>
#include <stddef.h>

#include "base/formats/json.h"
#include "base/hash.h"
#include "base/system/fs.h"
#include "sandbox/isolation/policy.h"
#include "sandbox/meter/usage.h"

static const char *const session_names[] = {"verify", "oneshot", NULL};
static const char *const result_names[] = {"workspace", "reply", NULL};
static const char *const prompt_names[] = {"stdin", "file", NULL};
static const char *const start_names[] = {"empty", "stub", "from_run", NULL};

static const struct kgb_field limits_fields[] = {
	{KGB_FIELD(struct kgb_method_limits, model_requests, I64), .min = 0, .max = 1000000,
	 .def = "0", .doc = "Requests to the model in one attempt; 0: no limit"},
	KGB_FIELD_END,
};

#define LOOP(member, kind, ...)                                              \
	{                                                                    \
		KGB_FIELD(struct kgb_method_loop, member, kind), __VA_ARGS__ \
	}
static const struct kgb_field loop_fields[] = {
	LOOP(iterations, I64, .required = true, .min = 1, .max = KGB_METHOD_ITERATIONS_MAX,
	     .doc = "Rounds of one attempt at most"),
	LOOP(patience, I64, .min = 0, .max = KGB_METHOD_ITERATIONS_MAX, .def = "0",
	     .doc = "Rounds without a better kernel after which it ends; 0: no limit"),
	LOOP(target_speedup, NUM, .min = 0, .max = 1000000, .def = "0",
	     .doc = "Speedup of the best at which it ends; 0: none"),
	LOOP(start, ENUM, .names = start_names, .def = "empty",
	     .doc = "What the first round begins with"),
	LOOP(prompt, STR, .required = true,
	     .doc = "Template appended to the task in each round, relative to its folder"),
	LOOP(hints, MAP, .doc = "Files with advice, by platform"),
	LOOP(memory, BOOL, .def = "false",
	     .doc = "Whether rounds see what helped on other operators of the run"),
	KGB_FIELD_END,
};
#undef LOOP

#define FIELD(member, kind, ...)                                        \
	{                                                               \
		KGB_FIELD(struct kgb_method, member, kind), __VA_ARGS__ \
	}
static const struct kgb_field method_fields[] = {
	FIELD(name, STR, .required = true, .doc = "As the user types it; equals the folder's name"),
	FIELD(summary, STR, .required = true, .doc = "One line for `list --methods`"),
	FIELD(cli, STR, .required = true, .doc = "Program that runs: one of methods/data/program/"),
	FIELD(model, STR, .required = true, .doc = "Model asked for when none is configured"),
	FIELD(system_text, STR, .doc = "File with the system text for a bare model"),
	FIELD(examples, STR, .doc = "File with examples for a bare model"),
	FIELD(reflection, STR,
	      .doc = "Template of what a bare model is told of its last answer in later rounds"),
	FIELD(verify_tool, BOOL, .def = "false", .doc = "Whether kgb-verify is offered inside"),
	FIELD(verify_timing, BOOL, .def = "false",
	      .doc = "Whether it also times a kernel that passes, where there is a GPU"),
	FIELD(session, ENUM, .names = session_names, .def = "verify",
	      .doc = "Session of the offline model"),
	FIELD(result, ENUM, .names = result_names, .def = "workspace",
	      .doc = "Where the candidate comes from"),
	FIELD(prompt, ENUM, .names = prompt_names, .def = "stdin",
	      .doc = "How the task reaches the program"),
	FIELD(instructions, STR, .required = true,
	      .doc = "Template with the method's own instructions, relative to its folder"),
	FIELD(argv, STRS, .doc = "Arguments of the CLI, instead of its program's"),
	FIELD(env, MAP, .doc = "Environment of the CLI, besides its program's"),
	FIELD(files, MAP, .doc = "Files that lie in its home before it starts: text by path"),
	FIELD(limits, OBJECT, .sub = limits_fields, .doc = "What one attempt may use at most"),
	FIELD(loop, OBJECT, .sub = loop_fields, .doc = "Several rounds in one attempt"),
	KGB_FIELD_END,
};
#undef FIELD

int kgb_method_names(const char *data_dir, struct kgb_strv *out, struct kgb_err *err)
{
	KGB_AUTO(free) char *path = kgb_path_join(data_dir, "methods/data");
	KGB_AUTO(strv) struct kgb_strv names = KGB_STRV_INIT;
	if (kgb_fs_list(path, &names, err) < 0)
		return -1;
	for (size_t i = 0; i < names.n; i++) {
		KGB_AUTO(free)
		char *file = kgb_xasprintf("%s/%s/method.yaml", path, names.items[i]);
		if (kgb_fs_exists(AT_FDCWD, file))
			kgb_strv_add(out, names.items[i]);
	}
	return 0;
}

/** "unknown method 'x'; did you mean 'y'?" */
static int fail_unknown(const char *data_dir, const char *name, struct kgb_err *err)
{
	KGB_AUTO(strv) struct kgb_strv names = KGB_STRV_INIT;
	if (kgb_method_names(data_dir, &names, err) < 0)
		return -1;
	KGB_AUTO(buf) struct kgb_buf msg = KGB_BUF_INIT(0);
	kgb_buf_addf(&msg, "unknown method '%s'", name);
	kgb_suggest(&msg, name, (const char *const *)names.items, names.n);
	kgb_buf_adds(&msg, " (see `kgb-agent list --methods`)");
	return kgb_fail(err, KGB_ERR_NOT_FOUND, "%s", msg.ptr);
}

/** Whether a path stays below the home. */
static bool is_inside(const char *path)
{
	if (!*path || *path == '/')
		return false;
	for (const char *at = path; at; at = strchr(at, '/')) {
		at += *at == '/';
		size_t len = strcspn(at, "/");
		if (len == 0 || (len <= 2 && strncmp(at, "..", len) == 0))
			return false;
	}
	return true;
}

/** A file of the method that a key names. */
static int check_file(const struct kgb_method *method, const struct kgb_yaml *doc, const char *key,
		      const char *file, struct kgb_err *err)
{
	KGB_AUTO(free) char *path = kgb_path_join(method->dir, file);
	if (kgb_fs_exists(AT_FDCWD, path))
		return 0;
	return kgb_yaml_fail(doc, kgb_json_get(doc->root, key), err, "%s: there is no file '%s'",
			     key, path);
}

static int check_optional_file(const struct kgb_method *method, const struct kgb_yaml *doc,
			       const char *key, const char *file, struct kgb_err *err)
{
	return file ? check_file(method, doc, key, file, err) : 0;
}

static int check_loop(const struct kgb_method *method, const struct kgb_yaml *doc,
		      const char *data_dir, struct kgb_err *err)
{
	const struct kgb_method_loop *loop = &method->loop;
	if (loop->iterations == 0)
		return 0;
	if (check_file(method, doc, "loop.prompt", loop->prompt, err) < 0)
		return -1;
	for (size_t i = 0; i < loop->hints.n; i++) {
		const char *platform = loop->hints.keys[i];
		KGB_AUTO(free) char *key = kgb_xasprintf("loop.hints.%s", platform);
		KGB_AUTO(free)
		char *path = kgb_xasprintf("%s/methods/data/platform/%s.md", data_dir, platform);
		if (!kgb_fs_exists(AT_FDCWD, path))
			return kgb_yaml_fail_key(doc, kgb_json_get(doc->root, key), err,
						 "%s: '%s' is no platform: there is no '%s'", key,
						 platform, path);
		if (check_file(method, doc, key, loop->hints.values[i], err) < 0)
			return -1;
	}
	return 0;
}

static int check(const struct kgb_method *method, const char *name, const char *path,
		 struct kgb_err *err)
{
	if (!kgb_str_eq(method->name, name))
		return kgb_fail(err, KGB_ERR_INVALID,
				"%s: name: '%s' must equal the folder's name '%s'", path,
				method->name, name);
	for (size_t i = 0; i < method->files.n; i++)
		if (!is_inside(method->files.keys[i]))
			return kgb_fail(err, KGB_ERR_INVALID,
					"%s: files: '%s' must be a path below the home", path,
					method->files.keys[i]);
	return 0;
}

/** Check that argv, env and files can be filled in, as each attempt will do, and passed on. */
static int check_command(const struct kgb_method *method, struct kgb_err *err)
{
	static const struct kgb_method_vars any = {
		.model = "m", .session_id = "s", .gateway_url = "u", .token = "t"};
	struct kgb_method_command command = {0};
	int rc = kgb_method_render(method, &any, &command, err);
	for (size_t i = 0; rc == 0 && i < command.env.n; i++) {
		const char *text = command.env.items[i];
		KGB_AUTO(free) char *name = kgb_xstrndup(text, strcspn(text, "="));
		if (kgb_policy_check_env(name, err) < 0)
			rc = kgb_ctx(err, "env");
	}
	kgb_method_command_release(&command);
	return rc;
}

int kgb_method_load(const char *data_dir, const char *name, struct kgb_method *out,
		    struct kgb_err *err)
{
	KGB_AUTO(strv) struct kgb_strv names = KGB_STRV_INIT;
	if (kgb_method_names(data_dir, &names, err) < 0)
		return -1;
	if (!kgb_strv_has(&names, name))
		return fail_unknown(data_dir, name, err);

	struct kgb_method method = {0};
	method.dir = kgb_arena_printf(&method.arena, "%s/methods/data/%s", data_dir, name);
	KGB_AUTO(free) char *path = kgb_path_join(method.dir, "method.yaml");
	KGB_AUTO(yaml) struct kgb_yaml doc = KGB_YAML_INIT;
	kgb_decode_defaults(method_fields, &method, &method.arena);
	if (kgb_yaml_read(AT_FDCWD, path, &doc, err) < 0 ||
	    kgb_decode(method_fields, &doc, doc.root, &method, &method.arena, err) < 0 ||
	    check(&method, name, path, err) < 0 ||
	    check_file(&method, &doc, "instructions", method.instructions, err) < 0 ||
	    check_optional_file(&method, &doc, "system_text", method.system_text, err) < 0 ||
	    check_optional_file(&method, &doc, "examples", method.examples, err) < 0 ||
	    check_optional_file(&method, &doc, "reflection", method.reflection, err) < 0 ||
	    check_loop(&method, &doc, data_dir, err) < 0)
		goto failed;
	if (kgb_program_load(data_dir, method.cli, &method.arena, &method.program, err) < 0) {
		if (err->kind == KGB_ERR_NOT_FOUND)
			kgb_ctx(err, "%s", path);
		goto failed;
	}
	if (check_command(&method, err) < 0) {
		kgb_ctx(err, "%s", path);
		goto failed;
	}
	*out = method;
	return 0;

failed:
	kgb_method_release(&method);
	return -1;
}

void kgb_method_release(struct kgb_method *method)
{
	kgb_arena_release(&method->arena);
}

bool kgb_method_needs_judge(const struct kgb_method *method)
{
	return method->verify_tool || method->loop.iterations > 0;
}

static const char *lookup_var(const char *name, const void *payload)
{
	const struct kgb_method_vars *vars = payload;
	if (kgb_str_eq(name, "model"))
		return vars->model;
	if (kgb_str_eq(name, "session_id"))
		return vars->session_id;
	if (kgb_str_eq(name, "gateway_url"))
		return vars->gateway_url;
	if (kgb_str_eq(name, "token"))
		return vars->token;
	return NULL;
}

static int render_map(const struct kgb_field_map *map, const struct kgb_method_vars *vars,
		      struct kgb_strv *names, struct kgb_strv *texts, struct kgb_err *err)
{
	for (size_t i = 0; i < map->n; i++) {
		KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
		if (kgb_template_render(&text, map->values[i], lookup_var, vars, err) < 0)
			return kgb_ctx(err, "%s", map->keys[i]);
		if (names) {
			kgb_strv_add(names, map->keys[i]);
			kgb_strv_add(texts, text.ptr);
		} else {
			kgb_strv_addf(texts, "%s=%s", map->keys[i], text.ptr);
		}
	}
	return 0;
}

static bool is_model_name(const char *name)
{
	static const char others[] = "._:/@+-[]";
	size_t len = strlen(name);
	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)name[i]) && !strchr(others, name[i]))
			return false;
	return len > 0 && len < KGB_USAGE_MODEL_LEN;
}

int kgb_method_render(const struct kgb_method *method, const struct kgb_method_vars *vars,
		      struct kgb_method_command *out, struct kgb_err *err)
{
	if (!is_model_name(vars->model))
		return kgb_fail(err, KGB_ERR_INVALID, "'%.100s' is no name of a model",
				vars->model);
	const struct kgb_strs *argv = method->argv.n > 0 ? &method->argv : &method->program.argv;
	for (size_t i = 0; i < argv->n; i++) {
		KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
		if (kgb_template_render(&text, argv->items[i], lookup_var, vars, err) < 0)
			return kgb_ctx(err, "method '%s': argv[%zu]", method->name, i);
		kgb_strv_add(&out->argv, text.ptr);
	}
	if (render_map(&method->program.env, vars, NULL, &out->env, err) < 0)
		return kgb_ctx(err, "program '%s': env", method->cli);
	if (render_map(&method->env, vars, NULL, &out->env, err) < 0)
		return kgb_ctx(err, "method '%s': env", method->name);
	if (render_map(&method->files, vars, &out->paths, &out->texts, err) < 0)
		return kgb_ctx(err, "method '%s': files", method->name);
	return 0;
}

void kgb_method_command_release(struct kgb_method_command *command)
{
	kgb_strv_release(&command->argv);
	kgb_strv_release(&command->env);
	kgb_strv_release(&command->paths);
	kgb_strv_release(&command->texts);
}

void kgb_uuid4(char out[37])
{
	uint8_t b[16];
	kgb_random(b, sizeof(b));
	b[6] = (uint8_t)((b[6] & 0x0f) | 0x40); /* version 4, RFC 9562 section 5.4 */
	b[8] = (uint8_t)((b[8] & 0x3f) | 0x80); /* variant */
	char hex[33];
	kgb_hex(b, sizeof(b), hex);
	snprintf(out, 37, "%.8s-%.4s-%.4s-%.4s-%.12s", hex, hex + 8, hex + 12, hex + 16, hex + 20);
}
