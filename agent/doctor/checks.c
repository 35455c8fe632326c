/* SPDX-License-Identifier: MIT */
#include "agent/doctor/checks.h"

#include <signal.h>
#include <unistd.h>

#include "agent/cli/program_probe.h"
#include "agent/config/env.h"
#include "base/formats/json.h"
#include "base/system/fs.h"
#include "base/system/proc.h"
#include "methods/method.h"

#define PROBE_LIMIT ((size_t)64 << 10)
#define PROBE_TIMEOUT_MS 120000 /* a cold import of torch from a slow disk */

void kgb_found(struct kgb_check_result *f, enum kgb_check_outcome outcome, const char *fmt, ...)
{
	va_list ap;
	f->outcome = outcome;
	va_start(ap, fmt);
	vsnprintf(f->detail, sizeof(f->detail), fmt, ap);
	va_end(ap);
}

void kgb_found_fix(struct kgb_check_result *f, enum kgb_check_outcome outcome, const char *fix,
		   const char *fmt, ...)
{
	va_list ap;
	f->outcome = outcome;
	snprintf(f->fix, sizeof(f->fix), "%s", fix);
	va_start(ap, fmt);
	vsnprintf(f->detail, sizeof(f->detail), fmt, ap);
	va_end(ap);
}

/** Run a program for its output; on failure *f has the reason. */
static int probe_program(struct kgb_check_result *f, const char *const *argv, struct kgb_buf *out)
{
	struct kgb_err err = KGB_ERR_INIT;
	struct kgb_proc_end end;
	KGB_AUTO(strv) struct kgb_strv env = KGB_STRV_INIT;
	kgb_child_env(&env);
	kgb_strv_add(&env, "CUDA_DEVICE_ORDER=PCI_BUS_ID");
	const struct kgb_proc_spec spec = {.argv = argv,
					   .env = (const char *const *)env.items,
					   .capture_fd = STDOUT_FILENO,
					   .limit = PROBE_LIMIT,
					   .timeout_ms = PROBE_TIMEOUT_MS,
					   .quiet = true};
	if (kgb_proc_run(&spec, out, &end, &err) < 0) {
		kgb_found(f, KGB_FAIL, "%s", err.msg);
		return -1;
	}
	if (end.interrupted) {
		/* Nothing was created yet: end by the signal, as if there were no child. */
		signal(end.interrupted, SIG_DFL);
		raise(end.interrupted);
	}
	if (end.exit_code != 0) {
		kgb_found(f, KGB_FAIL, "'%s' does not run: status %d, signal %d", argv[0],
			  end.exit_code, end.term_signal);
		return -1;
	}
	return 0;
}

/** The answer of the run's Python to a script, or NULL with the reason in *f. */
static cJSON *ask_python(struct kgb_check_result *f, const char *script,
			 const struct kgb_strv *args)
{
	KGB_AUTO(free) char *python = kgb_config_python(&f->cli->config);
	KGB_AUTO(strv) struct kgb_strv argv = KGB_STRV_INIT;
	KGB_AUTO(buf) struct kgb_buf out = KGB_BUF_INIT(0);
	KGB_AUTO(policy) struct kgb_policy policy;
	struct kgb_err err = KGB_ERR_INIT;
	cJSON *answer = NULL;
	kgb_policy_init(&policy);
	if (access(python, X_OK) < 0) {
		kgb_found(f, KGB_FAIL, "there is no Python with torch and triton at '%s'", python);
		return NULL;
	}
	if (kgb_policy_python(&policy, python, &err) < 0) {
		kgb_found(f, KGB_FAIL, "%s (paths.python)", err.msg);
		return NULL;
	}
	KGB_STRV_ADD(&argv, python, "-I", "-c", script);
	if (args->n > 0)
		kgb_strv_add_all(&argv, (const char *const *)args->items);
	if (probe_program(f, (const char *const *)argv.items, &out) == 0 &&
	    kgb_json_parse(out.ptr, out.len, &answer, &err) < 0)
		kgb_found(f, KGB_FAIL, "'%s' did not answer as expected: %s", python, err.msg);
	return answer;
}

static void check_programs(struct kgb_check_result *f)
{
	static const char *const programs[] = {"kgb-launch", "kgb-confine", "kgb-verify",
					       "kgb-judge"};
	KGB_AUTO(buf) struct kgb_buf out = KGB_BUF_INIT(0);
	KGB_AUTO(free) char *path = NULL;
	for (size_t i = 0; i < KGB_ARRAY_LEN(programs); i++) {
		kgb_free(path);
		path = kgb_path_join(f->cli->bin_dir, programs[i]);
		if (access(path, X_OK) < 0) {
			kgb_found(f, KGB_FAIL, "'%s' is missing", path);
			return;
		}
	}
	const char *const argv[] = {path, "--version", NULL};
	if (probe_program(f, argv, &out) == 0)
		kgb_found(f, KGB_PASS, "%s", f->cli->bin_dir);
}

static void check_data(struct kgb_check_result *f)
{
	const char *dataset = f->cli->config.settings.run.dataset;
	struct kgb_err err = KGB_ERR_INIT;
	const struct kgb_spec_index *index = NULL;
	KGB_AUTO(strv) struct kgb_strv methods = KGB_STRV_INIT;
	if (kgb_method_names(f->cli->data_dir, &methods, &err) < 0 ||
	    kgb_cli_index(f->cli, dataset, &index, &err) < 0)
		kgb_found(f, KGB_FAIL, "%s", err.msg);
	else
		kgb_found(f, KGB_PASS, "%s: %zu operators in %s, %zu methods", f->cli->data_dir,
			  index->names.n, dataset, methods.n);
}

/** Finding the packages takes some 50 ms, importing them seconds. */
static void check_python(struct kgb_check_result *f)
{
	static const char script[] =
		"import importlib.util, json, os, platform, sys\n"
		"found = {'python': platform.python_version()}\n"
		"for name in ('torch', 'triton'):\n"
		"    try:\n"
		"        spec = importlib.util.find_spec(name)\n"
		"        if spec and 'quick' in sys.argv:\n"
		"            found[name] = 'found'\n"
		"        elif spec:\n"
		"            found[name] = __import__(name).__version__\n"
		"        if spec and name == 'torch':\n"
		"            facts = {}\n"
		"            exec(open(os.path.join(os.path.dirname(spec.origin), 'version.py')).read(), facts)\n"
		"            found['cuda'] = facts.get('cuda')\n"
		"    except Exception as problem:\n"
		"        found[name + '_error'] = ': ' + repr(problem)[:200]\n"
		"print(json.dumps(found))\n";
	static const char *const packages[] = {"torch", "triton"};
	KGB_AUTO(free) char *python = kgb_config_python(&f->cli->config);
	KGB_AUTO(strv) struct kgb_strv args = KGB_STRV_INIT;
	kgb_strv_add(&args, f->quick ? "quick" : "import");
	KGB_AUTO(json) cJSON *found = ask_python(f, script, &args);
	if (!found)
		return;
	for (size_t i = 0; i < KGB_ARRAY_LEN(packages); i++) {
		KGB_AUTO(free) char *error = kgb_xasprintf("%s_error", packages[i]);
		const char *why = kgb_json_str(found, error, NULL);
		if (!why && kgb_json_str(found, packages[i], NULL))
			continue;
		kgb_found(f, KGB_FAIL, "'%s' has no %s%s", python, packages[i], why ? why : "");
		return;
	}
	if (f->gpu && !kgb_json_str(found, "cuda", NULL))
		kgb_found_fix(f, KGB_FAIL,
			      "install one with CUDA (pytorch.org), or use --device cpu",
			      "the torch of '%s' is a build without CUDA", python);
	else
		kgb_found(f, KGB_PASS, "%s: Python %s, torch %s, triton %s", python,
			  kgb_json_str(found, "python", "?"), kgb_json_str(found, "torch", "?"),
			  kgb_json_str(found, "triton", "?"));
}

void kgb_check_find_gpus(struct kgb_check_result *f, struct kgb_devices *devices, bool *found)
{
	const char *text = f->cli->config.settings.run.device;
	const bool is_auto = kgb_str_eq(text, "auto"), is_cpu = kgb_str_eq(text, "cpu");
	struct kgb_err err = KGB_ERR_INIT;
	*found = kgb_devices_find(devices, is_auto ? "cuda" : text, KGB_GPUS_MAX, f->cli->bin_dir,
				  &err) == 0 &&
		 devices->items[0].number >= 0;
	if (*found)
		return;
	if (is_cpu || (is_auto && kgb_gpu_count() == 0))
		kgb_found(f, KGB_PASS,
			  "%s: kernels run in a machine for Triton's IR, speed is not measured",
			  is_cpu ? "not asked for (run.device is cpu)" : "none here");
	else
		kgb_found_fix(f, is_auto ? KGB_WARN : KGB_FAIL, "--device cpu judges without a GPU",
			      "%s", err.msg);
}

void kgb_check_gpu(struct kgb_check_result *f, const struct kgb_device *device)
{
	const double gib = 1024.0 * 1024 * 1024;
	struct kgb_exec_machine m;
	struct kgb_err err = KGB_ERR_INIT;
	if (kgb_device_try(device, &m, &err) < 0) {
		kgb_found_fix(
			f, KGB_FAIL,
			"install a driver for CUDA 12.8 or later; nvidia-smi prints the driver's version and its GPUs",
			"%s", err.msg);
		return;
	}
	bool shared = m.free_bytes < m.memory_bytes / 2;
	kgb_found_fix(
		f, shared ? KGB_WARN : KGB_PASS,
		shared ? "end the other programs on this GPU (nvidia-smi lists them): they would disturb timings"
		       : "",
		"%s: %s, driver %s, %.1f GiB (%.1f free), compute capability %u.%u", device->name,
		m.name, *m.driver ? m.driver : "unknown", (double)m.memory_bytes / gib,
		(double)m.free_bytes / gib, m.cc_major, m.cc_minor);
}

void kgb_check_torch_gpu(struct kgb_check_result *f, const struct kgb_devices *devices)
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
	KGB_AUTO(strv) struct kgb_strv args = KGB_STRV_INIT;
	for (size_t i = 0; i < devices->n; i++)
		kgb_strv_addf(&args, "%d", devices->items[i].number);
	snprintf(f->fix, sizeof(f->fix), "%s", fix);
	KGB_AUTO(json) cJSON *found = ask_python(f, script, &args);
	if (!found)
		return;
	const char *cuda = kgb_json_str(found, "cuda", NULL);
	const char *cupti = kgb_json_str(found, "cupti", NULL);
	const char *error = kgb_json_str(found, "error", NULL);
	if (!cuda)
		kgb_found(f, KGB_FAIL, "torch is a build without CUDA");
	else if (error)
		kgb_found(f, KGB_FAIL, "torch for CUDA %s: %s", cuda, error);
	else if (!cupti)
		kgb_found_fix(f, KGB_FAIL,
			      "pip install nvidia-cuda-cupti (a CUDA build of torch brings it)",
			      "torch for CUDA %s, but no libcupti.so.13 or .12 beside it", cuda);
	else
		kgb_found_fix(f, KGB_PASS, "", "torch for CUDA %s uses %s, %s found", cuda,
			      devices->n == 1 ? "it" : "them all", cupti);
}

/** Whether the method that runs when none is named drives this program. */
static bool is_default(const struct kgb_cli *cli, const char *name)
{
	struct kgb_method method;
	struct kgb_err err = KGB_ERR_INIT;
	KGB_AUTO(free) char *first = kgb_config_first_method(&cli->config);
	if (kgb_method_load(cli->data_dir, first, &method, &err) < 0)
		return false;
	bool same = kgb_str_eq(method.cli, name);
	kgb_method_release(&method);
	return same;
}

/** One of the coding CLIs; a machine need not have them all. */
static void check_program(struct kgb_check_result *f, const char *name)
{
	const struct kgb_cli *cli = f->cli;
	KGB_AUTO(buf) struct kgb_buf untested = KGB_BUF_INIT(0);
	KGB_AUTO(arena) struct kgb_arena arena = KGB_ARENA_INIT;
	struct kgb_program program = {0};
	struct kgb_err err = KGB_ERR_INIT;
	char version[KGB_VERSION_LEN];
	if (kgb_program_load(cli->data_dir, name, &arena, &program, &err) < 0) {
		kgb_found_fix(f, KGB_FAIL, "restore methods/data/program", "%s", err.msg);
		return;
	}
	KGB_AUTO(free) char *path = kgb_config_program(&cli->config, &program);
	if (path && access(path, X_OK) == 0 && kgb_check_needs_sandbox(f))
		return;
	if (kgb_program_probe(&program, path, cli->bin_dir, kgb_checks_ladder(cli), version, &err) <
	    0)
		kgb_found_fix(f, is_default(cli, name) ? KGB_FAIL : KGB_WARN, program.install, "%s",
			      err.msg);
	else if (kgb_program_untested(&program, version, &untested))
		kgb_found_fix(f, KGB_WARN, program.install, "%s", untested.ptr);
	else
		kgb_found(f, KGB_PASS, "%s %s", program.title, version);
}

static void check_claude(struct kgb_check_result *f)
{
	check_program(f, "claude");
}

static void check_opencode(struct kgb_check_result *f)
{
	check_program(f, "opencode");
}

static void check_codex(struct kgb_check_result *f)
{
	check_program(f, "codex");
}

#define USERNS_FIX                                                                                        \
	"sudo sysctl kernel.unprivileged_userns_clone=1 kernel.apparmor_restrict_unprivileged_userns=0; " \
	"in a container: run it with a seccomp profile that permits user namespaces"

const struct kgb_check kgb_checks[] = {
	{"limits", "attempts at the same time share descriptors, processes, memory and disk",
	 "ulimit -n 1024", kgb_check_limits, KGB_NEED_ROOM},
	{"programs", "the judge, the launcher and the sandbox's client lie beside kgb-agent",
	 "reinstall kgb-agent, or run `kgb-agent setup` or, in its source tree, ./bootstrap setup",
	 check_programs, 0},
	{"data", "operators and methods are data",
	 "set KGB_DATA_DIR to the directory that holds methods/, datasets/ and verify/", check_data,
	 0},
	{"sandbox", "agents and candidates run in namespaces of their own, outside of your files",
	 "sudo apt-get install bubblewrap; " USERNS_FIX, kgb_check_namespaces, KGB_NEED_SANDBOX},
	{"network", "an agent reaches the model through one socket, and nothing else", USERNS_FIX,
	 kgb_check_network, 0},
	{"nested", "each kernel is judged in namespaces below those of a warm process",
	 "sudo sysctl user.max_user_namespaces=10000", kgb_check_nested, 0},
	{"landlock", "a second wall around an agent's files, in case the first has a hole",
	 "boot a kernel with CONFIG_SECURITY_LANDLOCK=y and lsm=landlock,...", kgb_check_landlock,
	 0},
	{"calls", "the results name each refused system call of an agent (cheat.probe)",
	 "Linux 5.0 or later; in a container: a seccomp profile that permits seccomp(2)",
	 kgb_check_calls, 0},
	{"cgroup", "the kernel itself bounds memory and processes of an attempt as a whole",
	 "systemd-run --user --scope -p Delegate=yes kgb-agent ...; in a container: mount cgroups writable",
	 kgb_check_cgroup, 0},
	{"isolation", "a run is refused below the level of sandbox.isolation",
	 "the remedies of the walls in `kgb-agent doctor`, or a lower --isolation",
	 kgb_check_isolation, KGB_NEED_ISOLATION},
	{"kill", "processes that an agent leaves behind are found and killed", "Linux 5.3 or later",
	 kgb_check_kill, 0},
	{"disk", "each attempt may write sandbox.disk bytes, and the disk must hold them",
	 "free some space, or lower sandbox.disk or --device-count", kgb_check_disk, 0},
	{"memory", "each attempt may use sandbox.memory bytes",
	 "lower sandbox.memory or --device-count", kgb_check_memory, 0},
	{"gpu-policy", "an agent that holds a GPU can disturb and read what runs there",
	 "--set sandbox.gpu=none", kgb_check_gpu_policy, 0},
	{"python", "candidates are Triton kernels, ground truth is torch",
	 "kgb-agent setup (or set paths.python to an interpreter with torch and triton)",
	 check_python, KGB_NEED_PYTHON},
	{"claude", "normal_cc, naive_cc and the methods with rounds drive Claude Code", "",
	 check_claude, 0},
	{"opencode", "the methods normal_opencode and naive_opencode drive OpenCode", "",
	 check_opencode, 0},
	{"codex", "the methods normal_codex and naive_codex drive Codex", "", check_codex, 0},
	{"model", "an agent needs a model", "export ANTHROPIC_API_KEY=... or OPENAI_API_KEY=...",
	 kgb_check_model, 0},
	{"api",
	 "an agent's first step is a request to the model; this check asks for the model's description, at no cost",
	 "see the line `model`", kgb_check_api, KGB_NEED_API},
	{"prices", "costs and budgets in dollars come from the table of prices",
	 "correct it, or name another with paths.prices", kgb_check_prices, 0},
	{"runs", "results and evidence are written there",
	 "make it writable, or name another with --runs-dir or paths.runs", kgb_check_runs, 0},
	{0},
};

int kgb_checks_require(struct kgb_cli *cli, unsigned needs, bool gpu, struct kgb_err *err)
{
	for (const struct kgb_check *row = kgb_checks; row->name; row++) {
		struct kgb_check_result f = {.cli = cli, .quick = true, .gpu = gpu};
		if (!((unsigned)row->need & needs))
			continue;
		row->check(&f);
		if (f.outcome == KGB_FAIL)
			return kgb_fail(err, KGB_ERR_UNAVAILABLE, "%s: %s", f.detail,
					*f.fix ? f.fix : row->fix);
	}
	return 0;
}
