/* SPDX-License-Identifier: MIT */
#include "verify/process/zygote.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/system/cache_dir.h"
#include "base/system/fs.h"
#include "base/system/memfd.h"
#include "base/system/proc.h"
#include "base/time.h"
#include "sandbox/isolation/bwrap.h"
#include "sandbox/isolation/policy.h"
#include "sandbox/isolation/status.h"
#include "verify/gpu/gpu_devices.h"
#include "verify/process/user_module.h"
#include "verify/protocol/wire.h"

enum {
	HUB_FD = 3,
	HELLO_MAX = 4096,
	STDERR_TAIL = 600,
	CONNECT_BACKLOG = 64,
	ISOLATION_MAX = 1024,
	STATUS_MS = 10 * 1000, /* wait for a launcher whose sandbox is gone */
	PRIVATE_BYTES =
		64 << 20 /* modules for CUDA that Triton compiles, kernels that torch does */
};
#define TRACE_LIBRARY "/kgb/lib/libkgb_trace.so"
#define CPU_TRACE_LIBRARY "/kgb/lib/libkgb_cpu_trace.so"

const char *kgb_role_name(enum kgb_role role)
{
	static const char *const names[KGB_N_ROLES] = {
		[KGB_ROLE_RUNNER] = "runner",
		[KGB_ROLE_REFERENCE] = "reference",
		[KGB_ROLE_COMPILE] = "compile",
	};

	KGB_ASSERT(role < KGB_N_ROLES);
	return names[role];
}

const char *kgb_zygote_socket(enum kgb_role role)
{
	static const char *const names[KGB_N_ROLES] = {
		[KGB_ROLE_RUNNER] = "runner.sock",
		[KGB_ROLE_REFERENCE] = "reference.sock",
		[KGB_ROLE_COMPILE] = "compile.sock",
	};

	KGB_ASSERT(role < KGB_N_ROLES);
	return names[role];
}

int64_t kgb_runner_tmp_bytes(int device)
{
	return device == KGB_DEVICE_CPU ? INT64_C(32) << 20 : INT64_C(2) << 30;
}

static void add_bind(struct kgb_policy *policy, const char *data_dir, const char *below,
		     const char *target)
{
	KGB_AUTO(free) char *source = kgb_path_join(data_dir, below);

	kgb_policy_mount(policy, KGB_MOUNT_RO, source, target);
}

static void set_environment(struct kgb_policy *policy, enum kgb_role role,
			    const struct kgb_zygote_spec *spec)
{
	static const char *const always[][2] = {
		{"OMP_NUM_THREADS", "1"},
		{"MKL_NUM_THREADS", "1"},
		{"OPENBLAS_NUM_THREADS", "1"},
		{"TRITON_HOME", "/kgb/tmp"},
		{"TRITON_CACHE_DIR", "/kgb/tmp/triton"},
		{"TORCHINDUCTOR_CACHE_DIR", "/kgb/tmp"},
		{"TMPDIR", "/kgb/tmp"},
	};
	bool gpu = spec->device != KGB_DEVICE_CPU && role != KGB_ROLE_COMPILE;
	KGB_AUTO(free) char *device = kgb_xasprintf("%d", spec->device);
	KGB_AUTO(free)
	char *spares = kgb_xasprintf("%d %lld", spec->spares,
				     (long long)kgb_runner_tmp_bytes(spec->device));

	for (size_t i = 0; i < KGB_ARRAY_LEN(always); i++)
		kgb_policy_setenv(policy, always[i][0], always[i][1]);
	kgb_policy_setenv(policy, "KGB_SPARES", spares);
	kgb_policy_setenv(policy, "CUDA_VISIBLE_DEVICES", gpu ? device : "");
	if (spec->tells_sizes)
		kgb_policy_setenv(policy, "KGB_SIZES", "1");
	if (gpu) {
		kgb_policy_setenv(policy, "KGB_DEVICE", "cuda");
		kgb_policy_setenv(policy, "CUDA_INJECTION64_PATH", TRACE_LIBRARY);
		if (spec->cupti)
			kgb_policy_setenv(policy, "KGB_CUPTI", spec->cupti);
	}
}

/* libkgb_cublas.so is beside the trace library if the build had CUDA's headers. */
static void bind_cublas(struct kgb_policy *policy, const char *trace_library)
{
	const char *slash = strrchr(trace_library, '/');
	int folder = slash ? (int)(slash - trace_library) : 0;
	KGB_AUTO(free)
	char *library = kgb_xasprintf("%.*s/libkgb_cublas.so", folder, trace_library);

	if (access(library, R_OK) == 0)
		kgb_policy_mount(policy, KGB_MOUNT_RO, library, "/kgb/lib/libkgb_cublas.so");
}

/* On a GPU torch compiles some operators when they are used, half a second for each type, and keeps
 * the code. */
static void keep_compiled_operators(struct kgb_policy *policy)
{
	KGB_AUTO(free) char *kept = kgb_cache_dir_make("kernels");

	if (kept)
		kgb_policy_mount(policy, KGB_MOUNT_RW, kept, "/kgb/kernels");
	kgb_policy_setenv(policy, "PYTORCH_KERNEL_CACHE_PATH",
			  kept ? "/kgb/kernels" : "/kgb/tmp/kernels");
}

/* The folder where runners write kernel.py. It looks like a user's. */
static void give_place(struct kgb_policy *policy)
{
	char place[64];

	kgb_user_folder_draw(place, sizeof(place));
	kgb_policy_mount(policy, KGB_MOUNT_DIR, NULL, place);
	kgb_policy_arg(policy, place);
}

/* A zygote's mounts: the interpreter, our Python files, and the GPU that its workers use; nothing
 * of datasets, runs or the workspace. */
static int make_policy(struct kgb_policy *policy, enum kgb_role role,
		       const struct kgb_zygote_spec *spec, struct kgb_err *err)
{
	const struct kgb_policy_base_spec base = {.tmp_bytes = 64 << 20, .shm_bytes = 1 << 20};

	policy->allow_nested_userns = role != KGB_ROLE_REFERENCE;
	if (kgb_policy_base(policy, &base, err) < 0 ||
	    kgb_policy_python(policy, spec->python, err) < 0)
		return -1;
	add_bind(policy, spec->data_dir, "verify/python/runner", "/kgb/runner");
	if (role == KGB_ROLE_REFERENCE) {
		add_bind(policy, spec->data_dir, "verify/python/reference", "/kgb/reference");
		if (spec->device != KGB_DEVICE_CPU)
			keep_compiled_operators(policy);
	} else if (role == KGB_ROLE_RUNNER) {
		add_bind(policy, spec->data_dir, "verify/python/reference/ast_facts.py",
			 "/kgb/facts/ast_facts.py");
		add_bind(policy, spec->data_dir, "verify/python/reference/ast_numbers.py",
			 "/kgb/facts/ast_numbers.py");
		add_bind(policy, spec->data_dir, "verify/python/reference/ast_scopes.py",
			 "/kgb/facts/ast_scopes.py");
	} else {
		add_bind(policy, spec->data_dir, "verify/python/compiler", "/kgb/compiler");
	}
	kgb_policy_mount(policy, KGB_MOUNT_RO, spec->library, "/kgb/lib/_kgbrun.abi3.so");
	if (spec->device == KGB_DEVICE_CPU && role == KGB_ROLE_RUNNER)
		kgb_policy_mount(policy, KGB_MOUNT_RO, spec->trace_library, CPU_TRACE_LIBRARY);
	if (spec->device != KGB_DEVICE_CPU && role != KGB_ROLE_COMPILE) {
		kgb_policy_mount(policy, KGB_MOUNT_RO, spec->trace_library, TRACE_LIBRARY);
		if (kgb_policy_gpu(policy, err) < 0)
			return -1;
		if (role == KGB_ROLE_REFERENCE)
			bind_cublas(policy, spec->trace_library);
	}
	kgb_policy_tmpfs(policy, "/kgb/tmp", PRIVATE_BYTES);
	set_environment(policy, role, spec);
	kgb_policy_set_cwd(policy, "/");

	KGB_AUTO(free) char *hub = kgb_xasprintf("%d", HUB_FD);
	const char *const argv[] = {spec->python,        "-I", "-B", "/kgb/runner/zygote.py",
				    kgb_role_name(role), hub};
	for (size_t i = 0; i < KGB_ARRAY_LEN(argv); i++)
		kgb_policy_arg(policy, argv[i]);
	if (role == KGB_ROLE_RUNNER)
		give_place(policy);
	return 0;
}

int kgb_zygote_start(struct kgb_zygote *zygote, enum kgb_role role,
		     const struct kgb_zygote_spec *spec, struct kgb_err *err)
{
	KGB_AUTO(policy) struct kgb_policy policy;
	KGB_AUTO(sandbox) struct kgb_sandbox sandbox = {.status_fd = -1, .listen_fd = -1};
	KGB_AUTO(fd) int hub = -1;
	KGB_AUTO(fd) int hub_inside = -1;
	KGB_AUTO(fd) int log = -1;
	int pair[2];
	pid_t pid;

	kgb_policy_init(&policy);
	if (make_policy(&policy, role, spec, err) < 0)
		return kgb_ctx(err, "%s", kgb_role_name(role));
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return kgb_fail_errno(err, errno, "socketpair");
	hub = pair[0];
	hub_inside = pair[1];
	if (kgb_memfd_empty("kgb-zygote-stderr", &log, err) < 0)
		return -1;

	const struct kgb_sandbox_spec sandbox_spec = {
		.policy = &policy,
		.stdio = {-1, -1, log},
		.pass = {{.from = hub_inside, .to = HUB_FD}},
		.n_pass = 1,
	};
	if (kgb_sandbox_prepare(&sandbox, &sandbox_spec, err) < 0 ||
	    kgb_sandbox_spawn(&sandbox, &pid, err) < 0)
		return kgb_ctx(err, "%s", kgb_role_name(role));
	*zygote = (struct kgb_zygote){.role = role,
				      .hub_fd = kgb_take_fd(&hub),
				      .log_fd = kgb_take_fd(&log),
				      .status_fd = kgb_take_fd(&sandbox.status_fd),
				      .launcher = pid};
	return 0;
}

/* The cause why the launcher could not start the sandbox; "": it reported none. */
static void read_status(const struct kgb_zygote *zygote, char *out, size_t cap)
{
	struct kgb_sandbox_status status;
	struct pollfd wait = {.fd = zygote->status_fd, .events = POLLIN};
	char bytes[1024];

	kgb_sandbox_status_init(&status);
	while (poll(&wait, 1, STATUS_MS) > 0) {
		ssize_t n = read(zygote->status_fd, bytes, sizeof(bytes));
		if (n <= 0)
			break;
		kgb_sandbox_status_feed(&status, bytes, (size_t)n);
	}
	snprintf(out, cap, "%s", status.error);
	kgb_sandbox_status_release(&status);
}

int kgb_zygote_fail_ended(const struct kgb_zygote *zygote, const char *why, struct kgb_err *err)
{
	char error[256];
	char text[STDERR_TAIL + 1];
	KGB_AUTO(buf) struct kgb_buf shown = KGB_BUF_INIT(0);
	off_t size = lseek(zygote->log_fd, 0, SEEK_END);
	ssize_t n = pread(zygote->log_fd, text, STDERR_TAIL,
			  size > STDERR_TAIL ? size - STDERR_TAIL : 0);

	n = n < 0 ? 0 : n;
	while (n > 0 && text[n - 1] == '\n')
		n--;
	text[n] = '\0';
	const char *last = strrchr(text, '\n');
	last = last ? last + 1 : text;
	read_status(zygote, error, sizeof(error));
	kgb_escape(&shown, error[0] ? error : last, strlen(error[0] ? error : last));
	return kgb_fail(err, KGB_ERR_UNAVAILABLE, "%s process: %s%s%s", kgb_role_name(zygote->role),
			why, shown.len > 0 ? ": " : "", shown.ptr);
}

int kgb_zygote_wait_ready(struct kgb_zygote *zygote, int64_t timeout_ms, struct kgb_err *err)
{
	char hello[HELLO_MAX];
	int64_t deadline = kgb_mono_ms() + timeout_ms;
	ssize_t n;

	do {
		if (!kgb_wire_await(zygote->hub_fd, deadline))
			return kgb_fail(err, KGB_ERR_TIMEOUT, "%s process: not ready after %lld s",
					kgb_role_name(zygote->role),
					(long long)(timeout_ms / 1000));
		n = kgb_wire_recv(zygote->hub_fd, hello, sizeof(hello), NULL, 0, NULL, err);
		if (n == -1)
			return -1;
	} while (n == -2);
	if (n == 0)
		return kgb_zygote_fail_ended(zygote, "ended at its start", err);

	KGB_AUTO(json) cJSON *json = NULL;
	size_t len = (size_t)n < sizeof(hello) ? (size_t)n : sizeof(hello);
	if (kgb_json_parse(hello, len, &json, err) < 0)
		return kgb_ctx(err, "%s process", kgb_role_name(zygote->role));
	const char *error = kgb_json_str(json, "error", NULL);
	if (error)
		return kgb_fail(
			err, KGB_ERR_UNAVAILABLE,
			"%s process: %s: run `kgb-agent setup` to install torch and triton, or name an interpreter that has "
			"them in KGB_PYTHON",
			kgb_role_name(zygote->role), error);
	snprintf(zygote->identity, sizeof(zygote->identity), "%s",
		 kgb_json_str(kgb_json_get(json, "ready"), "identity", ""));
	return 0;
}

static char *identity_file(enum kgb_role role)
{
	return kgb_xasprintf("%s.identity", kgb_role_name(role));
}

int kgb_zygote_tell_identity(const struct kgb_zygote *zygote, int dir_fd, struct kgb_err *err)
{
	KGB_AUTO(free) char *name = identity_file(zygote->role);

	return kgb_fs_write_atomic(dir_fd, name, zygote->identity, strlen(zygote->identity), 0600,
				   false, err);
}

/* Reads the identity of a warm zygote. Without one, no cache is used. */
static void read_identity(struct kgb_zygote *zygote)
{
	KGB_AUTO(free) char *name = identity_file(zygote->role);
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(KGB_SHA256_HEX_LEN);
	KGB_AUTO(fd) int dir = -1;
	struct kgb_err ignored = KGB_ERR_INIT;

	if (kgb_fs_opendir(AT_FDCWD, zygote->socket_dir, &dir, &ignored) == 0 &&
	    kgb_fs_read_untrusted(dir, name, KGB_SHA256_HEX_LEN, &text, &ignored) == 0)
		snprintf(zygote->identity, sizeof(zygote->identity), "%s", text.ptr);
}

int kgb_zygotes_write_isolation(const struct kgb_isolation_info *info, int dir_fd,
				struct kgb_err *err)
{
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(ISOLATION_MAX);
	struct kgb_jsonw w;

	kgb_jsonw_init(&w, &text, 0);
	kgb_isolation_write(info, &w);
	return kgb_fs_write_atomic(dir_fd, KGB_ZYGOTES_ISOLATION, text.ptr, text.len, 0600, false,
				   err);
}

bool kgb_zygotes_isolation(const char *path, struct kgb_isolation_info *out)
{
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(ISOLATION_MAX);
	KGB_AUTO(fd) int dir = -1;
	struct kgb_err ignored = KGB_ERR_INIT;
	cJSON *node = NULL;

	bool told = kgb_fs_opendir(AT_FDCWD, path, &dir, &ignored) == 0 &&
		    kgb_fs_read_untrusted(dir, KGB_ZYGOTES_ISOLATION, ISOLATION_MAX, &text,
					  &ignored) == 0 &&
		    kgb_json_parse(text.ptr, text.len, &node, &ignored) == 0 &&
		    kgb_isolation_read(node, out);
	cJSON_Delete(node);
	return told;
}

void kgb_zygote_use(struct kgb_zygote *zygote, enum kgb_role role, const char *dir)
{
	*zygote = (struct kgb_zygote){.role = role,
				      .hub_fd = -1,
				      .log_fd = -1,
				      .status_fd = -1,
				      .socket_dir = kgb_xstrdup(dir)};
	read_identity(zygote);
}

/* A socket's path may have only 107 bytes; a path through /proc works for any directory. */
static void socket_address(struct sockaddr_un *address, int dir_fd, const char *name)
{
	*address = (struct sockaddr_un){.sun_family = AF_UNIX};
	snprintf(address->sun_path, sizeof(address->sun_path), "/proc/self/fd/%d/%s", dir_fd, name);
}

int kgb_zygotes_connect(const char *path, const char *name, int *out_fd, struct kgb_err *err)
{
	KGB_AUTO(fd) int dir = -1;
	KGB_AUTO(fd) int fd = -1;
	struct sockaddr_un address;

	if (kgb_fs_opendir(AT_FDCWD, path, &dir, err) < 0)
		return -1;
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return kgb_fail_errno(err, errno, "socket");
	socket_address(&address, dir, name);
	if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
		return kgb_fail(err, KGB_ERR_UNAVAILABLE,
				"no process at '%s/%s' (%s): is 'kgb-judge zygotes' running?", path,
				name, strerror(errno));
	*out_fd = kgb_take_fd(&fd);
	return 0;
}

int kgb_zygote_connect(struct kgb_zygote *zygote, int *out_fd, struct kgb_err *err)
{
	int pair[2];

	if (zygote->socket_dir)
		return kgb_zygotes_connect(zygote->socket_dir, kgb_zygote_socket(zygote->role),
					   out_fd, err);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return kgb_fail_errno(err, errno, "socketpair");
	KGB_AUTO(fd) int ours = pair[0];
	KGB_AUTO(fd) int theirs = pair[1];
	if (kgb_zygote_forward(zygote, theirs, err) < 0)
		return -1;
	*out_fd = kgb_take_fd(&ours);
	return 0;
}

int kgb_zygote_forward(struct kgb_zygote *zygote, int control_fd, struct kgb_err *err)
{
	if (kgb_wire_send(zygote->hub_fd, "fork", 4, &control_fd, 1, err) < 0)
		return kgb_ctx(err, "%s process", kgb_role_name(zygote->role));
	return 0;
}

enum kgb_zygote_says kgb_zygote_hear(const struct kgb_zygote *zygote)
{
	static const char *const texts[] = {
		[KGB_ZYGOTE_LACKS] = "lacks",
		[KGB_ZYGOTE_OUT] = "out",
		[KGB_ZYGOTE_MADE] = "made",
	};
	struct kgb_err ignored = KGB_ERR_INIT;
	char text[8] = "";
	const ssize_t n =
		kgb_wire_recv(zygote->hub_fd, text, sizeof(text) - 1, NULL, 0, NULL, &ignored);

	if (n == -2)
		return KGB_ZYGOTE_NOTHING;
	for (size_t i = KGB_ZYGOTE_LACKS; i < KGB_ARRAY_LEN(texts); i++)
		if (kgb_str_eq(text, texts[i]))
			return (enum kgb_zygote_says)i;
	return KGB_ZYGOTE_ENDED;
}

int kgb_zygote_make_spare(struct kgb_zygote *zygote, struct kgb_err *err)
{
	if (kgb_wire_send(zygote->hub_fd, "spare", 5, NULL, 0, err) < 0)
		return kgb_ctx(err, "%s process", kgb_role_name(zygote->role));
	return 0;
}

void kgb_zygote_stop(struct kgb_zygote *zygote)
{
	if (zygote->launcher > 0) {
		kill(zygote->launcher, SIGTERM);
		(void)kgb_proc_wait(zygote->launcher);
		kgb_close(zygote->hub_fd);
		kgb_close(zygote->log_fd);
		kgb_close(zygote->status_fd);
	}
	kgb_free(zygote->socket_dir);
	*zygote = (struct kgb_zygote){
		.role = zygote->role, .hub_fd = -1, .log_fd = -1, .status_fd = -1};
}

int kgb_zygotes_listen(int dir_fd, const char *name, int *out_fd, struct kgb_err *err)
{
	KGB_AUTO(fd) int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un address;

	if (fd < 0)
		return kgb_fail_errno(err, errno, "socket");
	socket_address(&address, dir_fd, name);
	if (unlink(address.sun_path) < 0 && errno != ENOENT)
		return kgb_fail_errno(err, errno, "remove old '%s'", name);
	if (bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
	    listen(fd, CONNECT_BACKLOG) < 0)
		return kgb_fail_errno(err, errno, "listen at '%s'", name);
	*out_fd = kgb_take_fd(&fd);
	return 0;
}
