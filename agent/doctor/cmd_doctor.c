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

#include "agent/cli/cmd.h"
#include "agent/cli/program_probe.h"
#include "agent/cli/shared_options.h"
#include "agent/config/env.h"
#include "agent/devices/devices.h"
#include "agent/doctor/doctor.h"
#include "base/formats/json.h"
#include "base/formats/jsonw.h"
#include "base/system/fs.h"
#include "base/system/proc.h"
#include "methods/method.h"
#include "verify/spec/spec.h"

#define PROBE_LIMIT ((size_t)64 << 10)
#define PYTHON_TIMEOUT_MS 120000 /* a cold import of torch from a slow disk */
#define JUDGE_TIMEOUT_MS 20000
#define MIN_FREE_BYTES ((uint64_t)1 << 30)
#define MIN_OPEN_FILES 256

static const char *const outcome_names[] = {"PASS", "WARN", "FAIL"};

void kgb_doctor_finding_set(struct kgb_doctor_finding *f, enum kgb_outcome outcome, const char *fix,
			    const char *fmt, ...)
{
	va_list ap;
	f->outcome = outcome;
	va_start(ap, fmt);
	vsnprintf(f->detail, sizeof(f->detail), fmt, ap);
	va_end(ap);
	snprintf(f->fix, sizeof(f->fix), "%s", fix);
}

/** Run a program for its output; on failure *f says why. */
static int probe_program(const char *const *argv, int64_t timeout_ms, const char *fix,
			 struct kgb_buf *out, struct kgb_doctor_finding *f)
{
	struct kgb_err err = KGB_ERR_INIT;
	struct kgb_proc_end end;
	KGB_AUTO(strv) struct kgb_strv env = KGB_STRV_INIT;
	kgb_child_env(&env);
	kgb_strv_add(&env, "TRITON_INTERPRET=1");
	kgb_strv_add(&env, "CUDA_DEVICE_ORDER=PCI_BUS_ID");
	const struct kgb_proc_spec spec = {.argv = argv,
					   .env = (const char *const *)env.items,
					   .capture_fd = STDOUT_FILENO,
					   .limit = PROBE_LIMIT,
					   .timeout_ms = timeout_ms,
					   .quiet = true};
	if (kgb_proc_run(&spec, out, &end, &err) < 0) {
		kgb_doctor_finding_set(f, KGB_FAIL, fix, "%s", err.msg);
		return -1;
	}
	if (end.exit_code != 0) {
		kgb_doctor_finding_set(f, KGB_FAIL, fix, "'%s' ended with status %d, signal %d",
				       argv[0], end.exit_code, end.term_signal);
		return -1;
	}
	return 0;
}

static void check_programs(const struct kgb_cli *cli, struct kgb_doctor_finding *f)
{
	static const char *const programs[] = {"kgb-judge", "kgb-launch", "kgb-confine",
					       "kgb-verify"};
	for (size_t i = 0; i < KGB_ARRAY_LEN(programs); i++) {
		KGB_AUTO(free) char *path = kgb_path_join(cli->bin_dir, programs[i]);
		if (access(path, X_OK) < 0) {
			kgb_doctor_finding_set(
				f, KGB_FAIL,
				"reinstall kgb-agent, or run ./bootstrap setup in its source tree",
				"'%s' is missing", path);
			return;
		}
	}
	KGB_AUTO(free) char *judge = kgb_path_join(cli->bin_dir, "kgb-judge");
	KGB_AUTO(buf) struct kgb_buf out = KGB_BUF_INIT(0);
	const char *const argv[] = {judge, "--version", NULL};
	if (probe_program(argv, JUDGE_TIMEOUT_MS, "kgb-agent setup", &out, f) == 0)
		kgb_doctor_finding_set(f, KGB_PASS, "", "%s", cli->bin_dir);
}

static void check_data(const struct kgb_cli *cli, struct kgb_doctor_finding *f)
{
	struct kgb_err err = KGB_ERR_INIT;
	struct kgb_spec_index index = {0};
	KGB_AUTO(strv) struct kgb_strv methods = KGB_STRV_INIT;
	if (kgb_method_names(cli->data_dir, &methods, &err) < 0 ||
	    kgb_spec_index_load(cli->data_dir, cli->config.settings.run.dataset, &index, &err) <
		    0) {
		kgb_doctor_finding_set(
			f, KGB_FAIL,
			"set KGB_DATA_DIR to the directory that holds methods/, datasets/ and verify/",
			"%s", err.msg);
		return;
	}
	kgb_doctor_finding_set(f, KGB_PASS, "", "%s: %zu operators in %s, %zu methods",
			       cli->data_dir, index.names.n, cli->config.settings.run.dataset,
			       methods.n);
	kgb_spec_index_release(&index);
}

static void check_python(const struct kgb_cli *cli, struct kgb_doctor_finding *f)
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
		"kgb-agent setup (or set paths.python to an interpreter with torch and triton)";
	KGB_AUTO(free) char *python = kgb_config_python(&cli->config);
	KGB_AUTO(buf) struct kgb_buf out = KGB_BUF_INIT(0);
	KGB_AUTO(policy) struct kgb_policy policy;
	struct kgb_err err = KGB_ERR_INIT;
	const char *const argv[] = {python, "-c", script, NULL};
	kgb_policy_init(&policy);
	if (kgb_policy_python(&policy, python, &err) < 0) {
		kgb_doctor_finding_set(f, KGB_FAIL, fix, "%s", err.msg);
		return;
	}
	if (probe_program(argv, PYTHON_TIMEOUT_MS, fix, &out, f) < 0)
		return;
	KGB_AUTO(json) cJSON *found = NULL;
	if (kgb_json_parse(out.ptr, out.len, &found, &err) < 0) {
		kgb_doctor_finding_set(f, KGB_FAIL, fix, "'%s' did not answer as expected: %s",
				       python, err.msg);
		return;
	}
	const char *torch = kgb_json_str(found, "torch", NULL);
	const char *triton = kgb_json_str(found, "triton", NULL);
	if (!torch || !triton) {
		kgb_doctor_finding_set(
			f, KGB_FAIL, fix, "%s: torch %s, triton %s", python,
			torch ? torch : kgb_json_str(found, "torch_error", "missing"),
			triton ? triton : kgb_json_str(found, "triton_error", "missing"));
		return;
	}
	kgb_doctor_finding_set(f, KGB_PASS, "", "%s: Python %s, torch %s, triton %s", python,
			       kgb_json_str(found, "python", "?"), torch, triton);
}

/* ---- GPUs ---- */

#define GPU_WHY "kernels are judged and timed there"

/** Which GPUs a run could use; an error is what it would say, or why it would take the CPU. */
static int find_gpus(const struct kgb_cli *cli, struct kgb_devices *out, struct kgb_err *err)
{
	const char *text = cli->config.settings.run.device;
	return kgb_devices_find(out, kgb_str_eq(text, "auto") ? "cuda" : text, KGB_GPUS_MAX,
				cli->bin_dir, err);
}

static void check_no_gpu(const struct kgb_cli *cli, const struct kgb_err *why,
			 struct kgb_doctor_finding *f)
{
	const char *text = cli->config.settings.run.device;
	if (kgb_str_eq(text, "cpu") || (kgb_str_eq(text, "auto") && kgb_gpu_count() == 0))
		kgb_doctor_finding_set(
			f, KGB_PASS, "",
			"%s: kernels run in Triton's interpreter on the CPU, speed is not measured",
			kgb_str_eq(text, "cpu") ? "not asked for (run.device is cpu)"
						: "none here");
	else
		kgb_doctor_finding_set(f, kgb_str_eq(text, "auto") ? KGB_WARN : KGB_FAIL,
				       "--device cpu judges without a GPU", "%s", why->msg);
}

static void check_gpu(const struct kgb_device *device, struct kgb_doctor_finding *f)
{
	static const char fix[] =
		"nvidia-smi shows what the driver sees; needed is one for CUDA 12.8 or later";
	const double gib = 1024.0 * 1024 * 1024;
	struct kgb_exec_machine m;
	struct kgb_err err = KGB_ERR_INIT;
	if (kgb_device_try(device, &m, &err) < 0) {
		kgb_doctor_finding_set(f, KGB_FAIL, fix, "%s", err.msg);
		return;
	}
	bool shared = m.free_bytes < m.memory_bytes / 2;
	kgb_doctor_finding_set(
		f, shared ? KGB_WARN : KGB_PASS,
		shared ? "end what else uses it (nvidia-smi names it): timings would be disturbed"
		       : "",
		"%s: %s, driver %s, %.1f GiB (%.1f free), compute capability %u.%u", device->name,
		m.name, *m.driver ? m.driver : "unknown", (double)m.memory_bytes / gib,
		(double)m.free_bytes / gib, m.cc_major, m.cc_minor);
}

/** torch uses each GPU of the list, and has loaded CUPTI, with which work on a GPU is recorded. */
static void check_torch_gpu(const struct kgb_cli *cli, const struct kgb_devices *devices,
			    struct kgb_doctor_finding *f)
{
	static const char script[] =
		"import ctypes, json, os, sys\n"
		"import torch\n"
		"found = {'cuda': torch.version.cuda, 'cupti': None, 'error': None}\n"
		"for name in ('libcupti.so.13', 'libcupti.so.12'):\n"
		"    try:\n"
		"        ctypes.CDLL(name)\n"
		"        found['cupti'] = name\n"
		"        break\n"
		"    except OSError:\n"
		"        pass\n"
		"try:\n"
		"    for number in sys.argv[1:]:\n"
		"        (torch.ones(1, device='cuda:' + number) + 1).item()\n"
		"except Exception as problem:\n"
		"    found['error'] = 'cuda:%s: %s' % (number, str(problem).split('\\n')[0][:200])\n"
		"print(json.dumps(found))\n";
	static const char fix[] =
		"install torch built for the driver's CUDA (pytorch.org), or set paths.python";
	KGB_AUTO(free) char *python = kgb_config_python(&cli->config);
	KGB_AUTO(strv) struct kgb_strv argv = KGB_STRV_INIT;
	const char *const words[] = {python, "-c", script};
	for (size_t i = 0; i < KGB_ARRAY_LEN(words); i++)
		kgb_strv_add(&argv, words[i]);
	for (size_t i = 0; i < devices->n; i++)
		kgb_strv_addf(&argv, "%d", devices->items[i].number);
	KGB_AUTO(buf) struct kgb_buf out = KGB_BUF_INIT(0);
	if (probe_program((const char *const *)argv.items, PYTHON_TIMEOUT_MS, fix, &out, f) < 0)
		return;
	KGB_AUTO(json) cJSON *found = NULL;
	struct kgb_err err = KGB_ERR_INIT;
	if (kgb_json_parse(out.ptr, out.len, &found, &err) < 0) {
		kgb_doctor_finding_set(f, KGB_FAIL, fix, "'%s' did not answer as expected: %s",
				       python, err.msg);
		return;
	}
	const char *cuda = kgb_json_str(found, "cuda", NULL);
	const char *cupti = kgb_json_str(found, "cupti", NULL);
	const char *error = kgb_json_str(found, "error", NULL);
	if (!cuda)
		kgb_doctor_finding_set(f, KGB_FAIL, fix, "torch is a build without CUDA");
	else if (error)
		kgb_doctor_finding_set(f, KGB_FAIL, fix, "torch for CUDA %s: %s", cuda, error);
	else if (!cupti)
		kgb_doctor_finding_set(
			f, KGB_FAIL,
			"pip install nvidia-cuda-cupti (a CUDA build of torch brings it)",
			"torch for CUDA %s, but no libcupti.so.13 or .12 beside it", cuda);
	else
		kgb_doctor_finding_set(f, KGB_PASS, "", "torch for CUDA %s uses %s, %s found", cuda,
				       devices->n == 1 ? "it" : "them all", cupti);
}

/** The method that runs when none is named drives this program. */
static bool is_default(const struct kgb_cli *cli, const char *name)
{
	struct kgb_method method;
	struct kgb_err err = KGB_ERR_INIT;
	if (kgb_method_load(cli->data_dir, cli->config.settings.run.method, &method, &err) < 0)
		return false;
	bool same = kgb_str_eq(method.cli, name);
	kgb_method_release(&method);
	return same;
}

/** One of the coding CLIs; a machine need not have them all. */
static void check_program(const struct kgb_cli *cli, const char *name, struct kgb_doctor_finding *f)
{
	KGB_AUTO(buf) struct kgb_buf untested = KGB_BUF_INIT(0);
	KGB_AUTO(arena) struct kgb_arena arena = KGB_ARENA_INIT;
	struct kgb_program program = {0};
	struct kgb_err err = KGB_ERR_INIT;
	char version[KGB_VERSION_LEN];
	if (kgb_program_load(cli->data_dir, name, &arena, &program, &err) < 0) {
		kgb_doctor_finding_set(f, KGB_FAIL, "restore methods/data/program", "%s", err.msg);
		return;
	}
	KGB_AUTO(free) char *path = kgb_config_program(&cli->config, &program);
	enum kgb_outcome bad = is_default(cli, name) ? KGB_FAIL : KGB_WARN;
	if (!path || !kgb_fs_exists(AT_FDCWD, path))
		kgb_doctor_finding_set(f, bad, program.install, "%s is not there%s%s",
				       program.title, path ? ": " : "", path ? path : "");
	else if (kgb_program_probe(&program, path, cli->bin_dir, kgb_doctor_ladder(cli), version,
				   &err) < 0)
		kgb_doctor_finding_set(f, bad, program.install, "%s", err.msg);
	else if (kgb_program_untested(&program, version, &untested))
		kgb_doctor_finding_set(f, KGB_WARN, program.install, "%s", untested.ptr);
	else
		kgb_doctor_finding_set(f, KGB_PASS, "", "%s %s", program.title, version);
}

static void check_claude(const struct kgb_cli *cli, struct kgb_doctor_finding *f)
{
	check_program(cli, "claude", f);
}

static void check_opencode(const struct kgb_cli *cli, struct kgb_doctor_finding *f)
{
	check_program(cli, "opencode", f);
}

static void check_codex(const struct kgb_cli *cli, struct kgb_doctor_finding *f)
{
	check_program(cli, "codex", f);
}

char *kgb_doctor_existing_parent(const char *path)
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

static void check_runs(const struct kgb_cli *cli, struct kgb_doctor_finding *f)
{
	KGB_AUTO(free) char *runs = kgb_config_runs(&cli->config);
	KGB_AUTO(free) char *dir = kgb_doctor_existing_parent(runs);
	KGB_AUTO(free) char *trial = kgb_path_join(dir, ".kgb-doctor.XXXXXX");
	struct statvfs fs;
	/* Made and removed: root may write anywhere by the mode bits. */
	if (!mkdtemp(trial) || rmdir(trial) < 0 || statvfs(dir, &fs) < 0) {
		kgb_doctor_finding_set(
			f, KGB_FAIL,
			"make it writable, or name another with --runs-dir or paths.runs",
			"'%s' cannot be written: %s", dir, strerror(errno));
		return;
	}
	uint64_t free_bytes = (uint64_t)fs.f_bavail * fs.f_frsize;
	double free_gib = (double)free_bytes / (double)((uint64_t)1 << 30);
	bool enough = free_bytes >= MIN_FREE_BYTES && (fs.f_files == 0 || fs.f_favail > 10000);
	kgb_doctor_finding_set(f, enough ? KGB_PASS : KGB_WARN,
			       enough ? ""
				      : "free some space, or name another place with --runs-dir",
			       "%s: %.1f GiB free", runs, free_gib);
}

static void check_limits(const struct kgb_cli *cli, struct kgb_doctor_finding *f)
{
	(void)cli;
	struct rlimit files = {0};
	if (getrlimit(RLIMIT_NOFILE, &files) < 0) {
		kgb_doctor_finding_set(f, KGB_WARN, "", "the limit of open files is not known: %s",
				       strerror(errno));
		return;
	}
	bool enough = files.rlim_cur == RLIM_INFINITY || files.rlim_cur >= MIN_OPEN_FILES;
	kgb_doctor_finding_set(f, enough ? KGB_PASS : KGB_WARN, enough ? "" : "ulimit -n 1024",
			       "%llu open files", (unsigned long long)files.rlim_cur);
}

static const struct {
	const char *name;
	const char *why;
	kgb_check_fn check;
} checks[] = {
	{"programs", "the judge, the launcher and the sandbox's client lie beside kgb-agent",
	 check_programs},
	{"data", "operators and methods are data", check_data},
	{"sandbox", "agents and candidates run in namespaces of their own, outside of your files",
	 kgb_check_namespaces},
	{"network", "an agent reaches the model through one socket, and nothing else",
	 kgb_check_network},
	{"nested", "each kernel is judged in namespaces below those of a warm process",
	 kgb_check_nested},
	{"landlock", "a second wall around an agent's files, should the first have a hole",
	 kgb_check_landlock},
	{"calls", "what an agent tries and is refused is told in the results (cheat.probe)",
	 kgb_check_calls},
	{"cgroup", "the kernel itself bounds memory and processes of an attempt as a whole",
	 kgb_check_cgroup},
	{"isolation", "a run is refused below the level of sandbox.isolation", kgb_check_isolation},
	{"kill", "whatever an agent leaves behind is found, killed and proven gone",
	 kgb_check_kill},
	{"disk", "each attempt may write sandbox.disk bytes, and the disk must hold them",
	 kgb_check_disk},
	{"memory", "each attempt may use sandbox.memory bytes", kgb_check_memory},
	{"gpu-policy", "an agent that holds a GPU can disturb and read what runs there",
	 kgb_check_gpu_policy},
	{"python", "candidates are Triton kernels, ground truth is torch", check_python},
	{"claude", "normal_cc, naive_cc and the methods with rounds drive Claude Code",
	 check_claude},
	{"opencode", "the methods normal_opencode and naive_opencode drive OpenCode",
	 check_opencode},
	{"codex", "the methods normal_codex and naive_codex drive Codex", check_codex},
	{"model", "an agent needs a model", kgb_check_model},
	{"api", "requests go there as soon as an agent thinks", kgb_check_api},
	{"prices", "costs and budgets in dollars come from the table of prices", kgb_check_prices},
	{"runs", "results and evidence are written there", check_runs},
	{"limits", "each attempt holds some dozen descriptors", check_limits},
};

static void add_text(struct kgb_buf *out, const char *name, const struct kgb_doctor_finding *f)
{
	kgb_buf_addf(out, "%s  %-9s ", outcome_names[f->outcome], name);
	kgb_escape(out, f->detail, strlen(f->detail));
	kgb_buf_addc(out, '\n');
}

static void add_advice(struct kgb_buf *out, const char *why, const struct kgb_doctor_finding *f)
{
	if (f->outcome != KGB_PASS)
		kgb_buf_addf(out, "                why: %s\n", why);
	if (*f->fix)
		kgb_buf_addf(out, "                %s: %s\n",
			     f->outcome == KGB_PASS ? "to change that" : "fix", f->fix);
}

/** What doctor prints: as text and as JSON. */
struct report {
	struct kgb_buf text, json;
	struct kgb_jsonw w;
	bool failed;
};

static void add_finding(struct report *report, const char *name, const char *why,
			const struct kgb_doctor_finding *f)
{
	report->failed = report->failed || f->outcome == KGB_FAIL;
	kgb_jsonw_object(&report->w);
	kgb_jsonw_kstr(&report->w, "name", name);
	kgb_jsonw_kstr(&report->w, "status", outcome_names[f->outcome]);
	kgb_jsonw_kstr(&report->w, "detail", f->detail);
	kgb_jsonw_kstr(&report->w, "why", why);
	kgb_jsonw_kstr(&report->w, "fix", *f->fix ? f->fix : NULL);
	kgb_jsonw_object_end(&report->w);
	add_text(&report->text, name, f);
	add_advice(&report->text, why, f);
}

/** One line for each GPU, and one for torch with them. */
static void add_gpus(const struct kgb_cli *cli, struct report *report)
{
	struct kgb_devices devices;
	struct kgb_err err = KGB_ERR_INIT;
	struct kgb_doctor_finding f = {0};
	if (find_gpus(cli, &devices, &err) < 0 || devices.items[0].number < 0) {
		check_no_gpu(cli, &err, &f);
		add_finding(report, "gpu", GPU_WHY, &f);
		return;
	}
	for (size_t i = 0; i < devices.n; i++) {
		check_gpu(&devices.items[i], &f);
		add_finding(report, "gpu", GPU_WHY, &f);
	}
	check_torch_gpu(cli, &devices, &f);
	add_finding(report, "torch-gpu",
		    "candidates run on torch tensors there, and CUPTI records what they do", &f);
}

static int examine(struct kgb_cli *cli)
{
	struct report report = {.text = KGB_BUF_INIT(0), .json = KGB_BUF_INIT(0)};
	kgb_jsonw_init(&report.w, &report.json, 2);
	kgb_jsonw_object(&report.w);
	kgb_jsonw_kstr(&report.w, "schema", "kgb.doctor/1");
	kgb_jsonw_key(&report.w, "checks");
	kgb_jsonw_array(&report.w);
	for (size_t i = 0; i < KGB_ARRAY_LEN(checks); i++) {
		struct kgb_doctor_finding f = {0};
		checks[i].check(cli, &f);
		add_finding(&report, checks[i].name, checks[i].why, &f);
	}
	add_gpus(cli, &report);
	kgb_jsonw_array_end(&report.w);
	kgb_jsonw_kbool(&report.w, "ok", !report.failed);
	kgb_jsonw_object_end(&report.w);
	kgb_buf_addc(&report.json, '\n');
	int exit_code = kgb_cli_print(cli->flags.json ? &report.json : &report.text,
				      report.failed ? KGB_EXIT_ENVIRONMENT : KGB_EXIT_OK);
	kgb_buf_release(&report.text);
	kgb_buf_release(&report.json);
	return exit_code;
}

static const struct kgb_opt options[] = {
	KGB_OPTION_DEVICE,
	KGB_OPTION_ISOLATION,
	KGB_OPTION_RUNS_DIR,
	{0},
};

static const char help[] =
	"Tries what a run needs and prints one line for each part: PASS, WARN or FAIL, with the remedy.\n"
	"\n"
	"exit status: 0 nothing failed, 4 something did\n";

const struct kgb_command kgb_doctor_command = {
	.usage = {.name = "doctor",
		  .summary = "Check this machine",
		  .help = help,
		  .options = options},
	.run = examine,
};
