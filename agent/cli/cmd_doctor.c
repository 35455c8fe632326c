/* SPDX-License-Identifier: MIT */
/** \file
 * `doctor`: tries what a run needs instead of asking for version numbers, and says how to fix what
 * is missing.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "agent/cli/child.h"
#include "agent/cli/cmd.h"
#include "agent/env.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/jsonw.h"
#include "methods/method.h"
#include "sandbox/isolation/probe.h"
#include "verify/spec.h"

#define CLAUDE_TESTED "2.1.329"
#define PROBE_LIMIT ((size_t)64 << 10)
#define PYTHON_TIMEOUT_MS 120000 /* a cold import of torch from a slow disk */
#define CLI_TIMEOUT_MS 30000
#define MIN_FREE_BYTES ((uint64_t)1 << 30)
#define MIN_OPEN_FILES 256

enum outcome { PASS, WARN, FAIL };
static const char *const outcome_names[] = {"PASS", "WARN", "FAIL"};

/** One line of the report. */
struct finding {
	enum outcome outcome;
	char detail[512];
	char fix[512]; /* a command or an instruction; "" when nothing is to be done */
};

static void set(struct finding *f, enum outcome outcome, const char *fix, const char *fmt, ...)
	KGB_PRINTF(4, 5);

static void set(struct finding *f, enum outcome outcome, const char *fix, const char *fmt, ...)
{
	va_list ap;
	f->outcome = outcome;
	va_start(ap, fmt);
	vsnprintf(f->detail, sizeof(f->detail), fmt, ap);
	va_end(ap);
	snprintf(f->fix, sizeof(f->fix), "%s", fix);
}

static void check_programs(const struct kgb_cli *cli, struct finding *f)
{
	static const char *const programs[] = {"kgb-judge", "kgb-launch", "kgb-verify"};
	for (size_t i = 0; i < KGB_ARRAY_LEN(programs); i++) {
		KGB_AUTO(free) char *path = kgb_path_join(cli->bin_dir, programs[i]);
		if (access(path, X_OK) < 0) {
			set(f, FAIL, "./bootstrap setup", "'%s' is missing", path);
			return;
		}
	}
	set(f, PASS, "", "%s", cli->bin_dir);
}

static void check_data(const struct kgb_cli *cli, struct finding *f)
{
	struct kgb_err err = KGB_ERR_INIT;
	struct kgb_spec_index index = {0};
	KGB_AUTO(strv) struct kgb_strv methods = KGB_STRV_INIT;
	if (kgb_method_names(cli->data_dir, &methods, &err) < 0 ||
	    kgb_spec_index_load(cli->data_dir, cli->config.settings.run.dataset, &index, &err) <
		    0) {
		set(f, FAIL,
		    "set KGB_DATA_DIR to the directory that holds methods/, datasets/ and verify/",
		    "%s", err.msg);
		return;
	}
	set(f, PASS, "", "%s: %zu operators in %s, %zu methods", cli->data_dir, index.names.n,
	    cli->config.settings.run.dataset, methods.n);
	kgb_spec_index_release(&index);
}

static void check_sandbox(const struct kgb_cli *cli, struct finding *f)
{
	struct kgb_err err = KGB_ERR_INIT;
	struct kgb_isolation_info info = {0};
	KGB_AUTO(free) char *launcher = kgb_path_join(cli->bin_dir, "kgb-launch");
	if (kgb_isolation_probe(launcher, NULL, &info, &err) < 0) {
		set(f, FAIL,
		    "sudo apt-get install bubblewrap; in a container: allow user namespaces", "%s",
		    err.msg);
		return;
	}
	bool full = info.listener && info.nested_userns;
	set(f, full ? PASS : FAIL,
	    full ? "" : "allow unprivileged user namespaces (kernel.unprivileged_userns_clone=1)",
	    "level %s, bubblewrap %s, started in %lld ms%s%s%s",
	    kgb_isolation_level_name(info.level), info.bwrap_version, (long long)info.start_ms,
	    info.seccomp ? "" : ", no seccomp",
	    info.listener ? "" : ", no socket in an empty network namespace",
	    info.nested_userns ? "" : ", no nested user namespaces");
}

/** Run a program for its output; on failure *f says why. */
static int probe_program(const char *const *argv, int64_t timeout_ms, const char *fix,
			 struct kgb_buf *out, struct finding *f)
{
	struct kgb_err err = KGB_ERR_INIT;
	struct kgb_child_end end;
	KGB_AUTO(strv) struct kgb_strv env = KGB_STRV_INIT;
	kgb_child_env(&env);
	kgb_strv_add(&env, "TRITON_INTERPRET=1");
	const struct kgb_child_spec spec = {.argv = argv,
					    .env = (const char *const *)env.items,
					    .capture_fd = STDOUT_FILENO,
					    .limit = PROBE_LIMIT,
					    .timeout_ms = timeout_ms,
					    .quiet = true};
	if (kgb_child_run(&spec, out, &end, &err) < 0) {
		set(f, FAIL, fix, "%s", err.msg);
		return -1;
	}
	if (end.exit_code != 0) {
		set(f, FAIL, fix, "'%s' ended with status %d, signal %d", argv[0], end.exit_code,
		    end.term_signal);
		return -1;
	}
	return 0;
}

static void check_python(const struct kgb_cli *cli, struct finding *f)
{
	static const char script[] = "import json, platform\n"
				     "found = {'python': platform.python_version()}\n"
				     "for name in ('torch', 'triton', 'numpy'):\n"
				     "    try:\n"
				     "        found[name] = __import__(name).__version__\n"
				     "    except Exception as problem:\n"
				     "        found[name + '_error'] = repr(problem)[:200]\n"
				     "print(json.dumps(found))\n";
	static const char fix[] =
		"./bootstrap setup (or set paths.python to an interpreter with torch and triton)";
	KGB_AUTO(free) char *python = kgb_config_python(&cli->config);
	KGB_AUTO(buf) struct kgb_buf out = KGB_BUF_INIT(0);
	const char *const argv[] = {python, "-c", script, NULL};
	if (probe_program(argv, PYTHON_TIMEOUT_MS, fix, &out, f) < 0)
		return;
	KGB_AUTO(json) cJSON *found = NULL;
	struct kgb_err err = KGB_ERR_INIT;
	if (kgb_json_parse(out.ptr, out.len, &found, &err) < 0) {
		set(f, FAIL, fix, "'%s' did not answer as expected: %s", python, err.msg);
		return;
	}
	const char *torch = kgb_json_str(found, "torch", NULL);
	const char *triton = kgb_json_str(found, "triton", NULL);
	if (!torch || !triton) {
		set(f, FAIL, fix, "%s: torch %s, triton %s", python,
		    torch ? torch : kgb_json_str(found, "torch_error", "missing"),
		    triton ? triton : kgb_json_str(found, "triton_error", "missing"));
		return;
	}
	set(f, PASS, "", "%s: Python %s, torch %s, triton %s", python,
	    kgb_json_str(found, "python", "?"), torch, triton);
}

static void check_claude(const struct kgb_cli *cli, struct finding *f)
{
	static const char fix[] =
		"./bootstrap setup (or set paths.claude to Claude Code's native binary)";
	KGB_AUTO(free) char *claude = kgb_config_claude(&cli->config);
	KGB_AUTO(buf) struct kgb_buf out = KGB_BUF_INIT(0);
	const char *const argv[] = {claude, "--version", NULL};
	if (probe_program(argv, CLI_TIMEOUT_MS, fix, &out, f) < 0)
		return;
	kgb_buf_truncate(&out, strcspn(out.ptr, " \n"));
	if (!kgb_str_eq(out.ptr, CLAUDE_TESTED))
		set(f, WARN, "./bootstrap setup installs the tested one",
		    "Claude Code %s; tested is %s", out.ptr, CLAUDE_TESTED);
	else
		set(f, PASS, "", "Claude Code %s", out.ptr);
}

/** The nearest directory that exists: where a run would be created. */
static char *existing_parent(const char *path)
{
	char *dir = kgb_xstrdup(path);
	while (!kgb_fs_exists(AT_FDCWD, dir)) {
		char *slash = strrchr(dir, '/');
		if (!slash || slash == dir) {
			kgb_free(dir);
			return kgb_xstrdup("/");
		}
		*slash = '\0';
	}
	return dir;
}

static void check_runs(const struct kgb_cli *cli, struct finding *f)
{
	KGB_AUTO(free) char *runs = kgb_config_runs(&cli->config);
	KGB_AUTO(free) char *dir = existing_parent(runs);
	struct statvfs fs;
	if (access(dir, W_OK | X_OK) < 0 || statvfs(dir, &fs) < 0) {
		set(f, FAIL, "make it writable, or name another with --runs-dir or paths.runs",
		    "'%s' cannot be written: %s", dir, strerror(errno));
		return;
	}
	uint64_t free_bytes = (uint64_t)fs.f_bavail * fs.f_frsize;
	double free_gib = (double)free_bytes / (double)((uint64_t)1 << 30);
	bool enough = free_bytes >= MIN_FREE_BYTES && (fs.f_files == 0 || fs.f_favail > 10000);
	set(f, enough ? PASS : WARN,
	    enough ? "" : "free some space, or name another place with --runs-dir",
	    "%s: %.1f GiB free", runs, free_gib);
}

static void check_model(const struct kgb_cli *cli, struct finding *f)
{
	static const char fix[] = "export ANTHROPIC_API_KEY=...";
	bool is_bearer = false;
	bool has_key = kgb_api_key(&is_bearer) != NULL;
	int mode = cli->config.settings.gateway.mode;
	if (mode == KGB_GATEWAY_CHOICE_OFFLINE || (mode == KGB_GATEWAY_CHOICE_AUTO && !has_key))
		set(f, PASS, has_key ? "" : fix, "the built-in offline model, which is a script%s",
		    has_key ? "" : "; there is no API key for the real one");
	else if (!has_key)
		set(f, FAIL, fix,
		    "gateway.mode is live, but there is no API key in the environment");
	else
		set(f, PASS, "", "live at %s, key from %s",
		    cli->config.settings.gateway.upstream_url,
		    is_bearer ? "ANTHROPIC_AUTH_TOKEN" : "ANTHROPIC_API_KEY");
}

static void check_limits(const struct kgb_cli *cli, struct finding *f)
{
	(void)cli;
	struct rlimit files = {0};
	if (getrlimit(RLIMIT_NOFILE, &files) < 0) {
		set(f, WARN, "", "the limit of open files is not known: %s", strerror(errno));
		return;
	}
	bool enough = files.rlim_cur == RLIM_INFINITY || files.rlim_cur >= MIN_OPEN_FILES;
	set(f, enough ? PASS : WARN, enough ? "" : "ulimit -n 1024", "%llu open files",
	    (unsigned long long)files.rlim_cur);
}

static const struct {
	const char *name;
	const char *why;
	void (*check)(const struct kgb_cli *cli, struct finding *f);
} checks[] = {
	{"programs", "the judge, the launcher and the sandbox's client lie beside kgb-agent",
	 check_programs},
	{"data", "operators and methods are data", check_data},
	{"sandbox", "agents and candidates run without network and outside of your files",
	 check_sandbox},
	{"python", "candidates are Triton kernels, ground truth is torch", check_python},
	{"claude", "the methods normal_cc and naive_cc drive Claude Code", check_claude},
	{"model", "an agent needs a model", check_model},
	{"runs", "results and evidence are written there", check_runs},
	{"limits", "each attempt holds some dozen descriptors", check_limits},
};

static void add_text(struct kgb_buf *out, const char *name, const struct finding *f)
{
	kgb_buf_addf(out, "%s  %-9s ", outcome_names[f->outcome], name);
	kgb_escape(out, f->detail, strlen(f->detail));
	kgb_buf_addc(out, '\n');
}

static void add_advice(struct kgb_buf *out, const char *why, const struct finding *f)
{
	if (f->outcome != PASS)
		kgb_buf_addf(out, "                why: %s\n", why);
	if (*f->fix)
		kgb_buf_addf(out, "                %s: %s\n",
			     f->outcome == PASS ? "to change that" : "fix", f->fix);
}

int kgb_cmd_doctor(struct kgb_cli *cli)
{
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	KGB_AUTO(buf) struct kgb_buf json = KGB_BUF_INIT(0);
	struct kgb_jsonw w;
	bool failed = false;
	kgb_jsonw_init(&w, &json, 2);
	kgb_jsonw_object(&w);
	kgb_jsonw_kstr(&w, "schema", "kgb.doctor/1");
	kgb_jsonw_key(&w, "checks");
	kgb_jsonw_array(&w);
	for (size_t i = 0; i < KGB_ARRAY_LEN(checks); i++) {
		struct finding f = {0};
		checks[i].check(cli, &f);
		failed = failed || f.outcome == FAIL;
		kgb_jsonw_object(&w);
		kgb_jsonw_kstr(&w, "name", checks[i].name);
		kgb_jsonw_kstr(&w, "status", outcome_names[f.outcome]);
		kgb_jsonw_kstr(&w, "detail", f.detail);
		kgb_jsonw_kstr(&w, "why", checks[i].why);
		kgb_jsonw_kstr(&w, "fix", *f.fix ? f.fix : NULL);
		kgb_jsonw_object_end(&w);
		add_text(&text, checks[i].name, &f);
		add_advice(&text, checks[i].why, &f);
	}
	kgb_jsonw_array_end(&w);
	kgb_jsonw_kbool(&w, "ok", !failed);
	kgb_jsonw_object_end(&w);
	kgb_buf_addc(&json, '\n');
	return kgb_cli_print(cli->flags.json ? &json : &text,
			     failed ? KGB_EXIT_ENVIRONMENT : KGB_EXIT_OK);
}
