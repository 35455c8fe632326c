/* SPDX-License-Identifier: MIT */
#include "tests/unit/sandbox/sandbox_test.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/system/fs.h"
#include "base/system/proc_tree.h"
#include "base/time.h"
#include "sandbox/isolation/cgroup.h"
#include "sandbox/isolation/ladder.h"

#define ARGS(...) ((const char *const[]){__VA_ARGS__, NULL})
enum { MANY = 60, END_LIMIT_MS = 60000 };
static const int64_t megabyte = 1 << 20;

/* What this machine can do; each test uses what it needs. */
static const struct kgb_ladder *ladder(void)
{
	static struct kgb_ladder found;
	static bool is_tried;

	if (!is_tried)
		kgb_ladder_probe(LAUNCHER, NULL, &found);
	is_tried = true;
	return &found;
}

static void need_watched_calls(void)
{
	need_sandbox();
	if (!ladder()->confinement.watch_calls)
		skip();
}

/* Limits by looking, and by cgroups where there are some. */
static size_t confinements(const struct kgb_confinement *out[2])
{
	static const struct kgb_confinement by_looking = {0};
	size_t n = 0;

	out[n++] = &by_looking;
	if (!*ladder()->no_cgroup)
		out[n++] = &ladder()->confinement;
	return n;
}

static void test_the_ladder_has_steps_and_each_missing_one_a_reason(void **state)
{
	struct kgb_err err = KGB_ERR_INIT;
	const struct kgb_ladder *l = ladder();

	(void)state;
	need_sandbox();
	assert_true(l->level >= KGB_ISOLATION_L3);
	assert_int_equal(l->level == KGB_ISOLATION_L4, !*l->no_landlock && !*l->no_cgroup);
	assert_int_equal(l->confinement.landlock_abi > 0, !*l->no_landlock);
	assert_ok(kgb_ladder_require(l, KGB_ISOLATION_L3, &err), &err);
	struct kgb_ladder none;
	kgb_ladder_probe(LAUNCHER, "/nonexistent/bwrap", &none);
	assert_true(none.level < KGB_ISOLATION_L3);
	assert_int_equal(kgb_ladder_require(&none, KGB_ISOLATION_L3, &err), -1);
	assert_int_equal(err.kind, KGB_ERR_DENIED);
	assert_non_null(strstr(err.msg, "apt-get install bubblewrap"));
}

/* "Seccomp:\t0": nobody else filters our calls. */
static bool is_filtered(void)
{
	struct kgb_err err = KGB_ERR_INIT;
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(1 << 16);
	KGB_AUTO(fd) int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);

	assert_ok(kgb_fs_read_fd(fd, 1 << 16, &text, &err), &err);
	return strstr(text.ptr, "\nSeccomp:\t0") == NULL;
}

/* A wall that is broken shall not look like one that this machine does not have. */
static void test_what_the_kernel_has_is_had(void **state)
{
	struct kgb_confinement cgroups = {0};
	struct kgb_err err = KGB_ERR_INIT;

	(void)state;
	need_sandbox();
	if (syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION) > 0)
		assert_string_equal(ladder()->no_landlock, "");
	if (kgb_cgroup_find(&cgroups, &err) == 0)
		assert_string_equal(ladder()->no_cgroup, "");
	if (!is_filtered())
		assert_string_equal(ladder()->no_calls, "");
}

static void test_a_fork_bomb_is_ended_and_named(void **state)
{
	const struct kgb_confinement *all[2];
	size_t n = confinements(all);

	(void)state;
	need_sandbox();
	for (size_t i = 0; i < n; i++) {
		struct kgb_policy policy;
		struct guest_run run;
		int64_t start_ms = kgb_mono_ms();
		guest_policy(&policy, ARGS("fork-bomb"));
		policy.limits.n_tasks = MANY;
		run_guest_confined(&policy, all[i], &run);
		assert_string_equal(run.status.limit, "processes");
		assert_int_equal(run.status.limit_value, MANY);
		assert_true(run.status.limit_seen >= MANY);
		assert_true(run.status.tree_empty);
		assert_true(kgb_mono_ms() - start_ms < END_LIMIT_MS);
		guest_run_release(&run);
		kgb_policy_release(&policy);
	}
}

static void test_fewer_processes_than_allowed_are_nobodys_business(void **state)
{
	const struct kgb_confinement *all[2];
	size_t n = confinements(all);

	(void)state;
	need_sandbox();
	for (size_t i = 0; i < n; i++) {
		struct kgb_policy policy;
		struct guest_run run;
		guest_policy(&policy, ARGS("leave-daemon"));
		policy.limits.n_tasks = MANY;
		policy.limits.memory_bytes = 256 * megabyte;
		run_guest_confined(&policy, all[i], &run);
		assert_string_equal(run.status.limit, "");
		assert_int_equal(run.status.exit_code, 0);
		assert_int_equal(run.status.n_oom_kills, 0);
		assert_int_equal(run.status.cgroup_empty, i == 0 ? -1 : 1);
		guest_run_release(&run);
		kgb_policy_release(&policy);
	}
}

static void test_too_much_memory_ends_the_process_that_has_it(void **state)
{
	static const struct {
		const char *mode, *kind;
	} cases[] = {{"hog", "memory"}, {"hog-in-thread", "memory"}, {"hog", "memfd"}};
	const struct kgb_confinement *all[2];
	size_t n = confinements(all);

	(void)state;
	need_sandbox();
	for (size_t i = 0; i < n * KGB_ARRAY_LEN(cases); i++) {
		struct kgb_policy policy;
		struct guest_run run;
		guest_policy(&policy, ARGS(cases[i / n].mode, cases[i / n].kind, "200"));
		policy.limits.memory_bytes = 100 * megabyte;
		run_guest_confined(&policy, all[i % n], &run);
		assert_true(run.status.n_oom_kills >= 1);
		assert_true(run.status.tree_empty);
		/* Pages of files are given back late, and the kernel may end more than one. */
		if (i % n == 0 || kgb_str_eq(cases[i / n].kind, "memory")) {
			assert_string_equal(run.out.ptr, "child=KILL\n");
			assert_int_equal(run.status.exit_code, 0);
		}
		guest_run_release(&run);
		kgb_policy_release(&policy);
	}
}

/* May we look at what others have mapped? */
static bool sees_mappings(void)
{
	KGB_AUTO(fd) int fd = open("/proc/self/map_files", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(dup(fd));
	struct stat st;
	bool found = false;

	for (struct dirent *entry; !found && dir && (entry = readdir(dir));)
		found = entry->d_name[0] != '.' && fstatat(fd, entry->d_name, &st, 0) == 0;
	if (dir)
		(void)closedir(dir);
	return found;
}

/* Held by a descriptor, or by a mapping alone. */
static void check_deleted(const char *how)
{
	struct kgb_err err = KGB_ERR_INIT;
	char dir[] = KGB_TEST_BIN_DIR "/../walls.XXXXXX";
	struct kgb_policy policy;
	struct guest_run run;

	if (!mkdtemp(dir)) /* /tmp may be memory, where this is no matter of disks */
		skip();
	guest_policy(&policy, ARGS("hog", how, "40", "/mnt"));
	kgb_policy_mount(&policy, KGB_MOUNT_RW, dir, "/mnt");
	policy.limits.nameless_bytes = 20 * megabyte;
	run_guest_confined(&policy, NULL, &run);
	if (!kgb_str_eq(run.status.limit, "disk"))
		fail_msg("%s: limit '%s', exit %d of %#x, error '%s'; said: %s", how,
			 run.status.limit, run.status.exit_code, (unsigned)run.wait_status,
			 run.status.error, run.out.ptr);
	assert_true(run.status.limit_seen > 20 * megabyte);
	guest_run_release(&run);
	kgb_policy_release(&policy);
	assert_ok(kgb_fs_remove_tree(AT_FDCWD, dir, &err), &err);
}

static void test_deleted_files_that_are_held_count(void **state)
{
	(void)state;
	need_sandbox();
	check_deleted("disk");
	if (sees_mappings())
		check_deleted("mapped");
}

/* Calls that are refused come back with their errors as without a listener, and are counted. */
static void test_refused_calls_are_counted_by_name(void **state)
{
	static const char *const names[] = {"ptrace",          "process_vm_readv",
					    "user_namespace",  "mount",
					    "umount2",         "fsopen",
					    "setns",           "keyctl",
					    "add_key",         "bpf",
					    "perf_event_open", "io_uring_setup",
					    "userfaultfd",     "kexec_load",
					    "init_module",     "pidfd_getfd",
					    "chroot"};
	const struct kgb_confinement confinement = {.watch_calls = true};
	struct kgb_policy policy;
	struct guest_run run;

	(void)state;
	need_watched_calls();
	char *plain = guest_output(ARGS("syscalls"));
	guest_policy(&policy, ARGS("syscalls"));
	run_guest_confined(&policy, &confinement, &run);
	assert_string_equal(run.out.ptr, plain);
	for (size_t i = 0; i < KGB_ARRAY_LEN(names); i++) {
		size_t at = 0;
		while (at < run.status.n_probes &&
		       !kgb_str_eq(run.status.probes[at].name, names[i]))
			at++;
		if (at == run.status.n_probes)
			fail_msg("%s was not told", names[i]);
	}
	guest_run_release(&run);
	kgb_policy_release(&policy);
	kgb_free(plain);
}

static void test_sockets_are_refused_with_the_same_errors(void **state)
{
	const struct kgb_confinement confinement = {.watch_calls = true};
	struct kgb_policy policy;
	struct guest_run run;

	(void)state;
	need_watched_calls();
	char *plain = guest_output(ARGS("sockets"));
	guest_policy(&policy, ARGS("sockets"));
	run_guest_confined(&policy, &confinement, &run);
	assert_string_equal(run.out.ptr, plain);
	assert_true(run.status.n_probes >= 4);
	guest_run_release(&run);
	kgb_policy_release(&policy);
	kgb_free(plain);
}

static void test_an_address_outside_is_told(void **state)
{
	const struct kgb_confinement confinement = {.watch_calls = true};
	struct kgb_policy policy;
	struct guest_run run;

	(void)state;
	need_watched_calls();
	guest_policy(&policy, ARGS("internet"));
	run_guest_confined(&policy, &confinement, &run);
	assert_string_equal(run.out.ptr, "ENETUNREACH\n");
	assert_int_equal(run.status.n_probes, 1);
	assert_string_equal(run.status.probes[0].name, "network");
	assert_string_equal(run.status.probes[0].detail, "1.1.1.1:80");
	guest_run_release(&run);
	kgb_policy_release(&policy);
}

/* A socket of the host, listening; its abstract name is NAME and our number. */
static int listen_abstract(const char *name, char text[64])
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	size_t len = (size_t)snprintf(text, 64, "%s-%d", name, getpid());

	memcpy(address.sun_path + 1, text, len);
	assert_int_equal(bind(fd, (const struct sockaddr *)&address,
			      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + len)),
			 0);
	assert_int_equal(listen(fd, 1), 0);
	return fd;
}

/* What reaches out of the sandbox, or would hide from who counts; and what looks like it. */
static void test_each_reach_outside_is_told_and_nothing_else(void **state)
{
	char host[64], both[64], host_detail[65];
	const struct {
		const char *name, *detail;
	} told[] = {{"network", "1.1.1.3:9"},         {"network", "1.1.1.2:9"},
		    {"socket.host", host_detail},     {"file_table", ""},
		    {"device", "block 8:0"},          {"device", "character 1:3"},
		    {"socket.netlink", "protocol 12"}};
	const struct kgb_confinement confinement = {.watch_calls = true};
	struct kgb_policy policy;
	struct guest_run run;

	(void)state;
	need_watched_calls();
	KGB_AUTO(fd) int host_fd = listen_abstract("kgb-host", host);
	KGB_AUTO(fd) int both_fd = listen_abstract("kgb-both", both);
	(void)snprintf(host_detail, sizeof(host_detail), "@%s", host);
	guest_policy(&policy, ARGS("reaching", host, both));
	run_guest_confined(&policy, &confinement, &run);
	assert_string_equal(
		run.out.ptr,
		"sendmsg=ENETUNREACH\nsendmmsg=ok\nsendmsg_inside=ok\nsocketpair=ok\n"
		"sendmsg_pair=ok\nabstract_host=ECONNREFUSED\nabstract_nobody=ECONNREFUSED\n"
		"bind=ok\nlisten=ok\nabstract_both=ok\n"
		"unshare_files=EPERM\nclone_files=EPERM\nclose_range_unshare=EINVAL\n"
		"close_range=ok\nmknod_block=EPERM\nmknod_character=EPERM\nmknod_fifo=ok\n"
		"mknod_file=ok\nnetlink_firewall=EPROTONOSUPPORT\nnetlink_routes=ok\n");
	for (size_t i = 0; i < run.status.n_probes && i < KGB_ARRAY_LEN(told); i++) {
		assert_string_equal(run.status.probes[i].name, told[i].name);
		assert_string_equal(run.status.probes[i].detail, told[i].detail);
	}
	assert_int_equal(run.status.n_probes, KGB_ARRAY_LEN(told));
	assert_int_equal(run.status.probes[3].count, 3);
	guest_run_release(&run);
	kgb_policy_release(&policy);
}

/* The rules allow what the mounts show, and nothing is lost by them. */
static void test_rules_leave_a_sandbox_usable(void **state)
{
	struct kgb_policy policy;
	struct guest_run run;

	(void)state;
	need_sandbox();
	if (ladder()->confinement.landlock_abi == 0)
		skip();
	guest_policy(&policy,
		     ARGS("write", "/tmp", "/home/agent", "/dev/shm", "/usr", "/etc", "/"));
	run_guest_confined(&policy, &ladder()->confinement, &run);
	assert_string_equal(run.out.ptr, "/tmp=written\n/home/agent=written\n/dev/shm=written\n"
					 "/usr=EROFS\n/etc=EROFS\n/=EROFS\n");
	guest_run_release(&run);
	kgb_policy_release(&policy);
	guest_policy(&policy, ARGS("open", "/dev/null", "/proc/self/comm"));
	run_guest_confined(&policy, &ladder()->confinement, &run);
	assert_string_equal(run.out.ptr, "/dev/null=ok\n/proc/self/comm=EROFS\n");
	guest_run_release(&run);
	kgb_policy_release(&policy);
	struct kgb_err err = KGB_ERR_INIT;
	guest_policy(&policy, ARGS("open", "/proc/self/comm", "/proc/sys/kernel/hostname"));
	assert_ok(kgb_policy_name_threads(&policy, &err), &err);
	run_guest_confined(&policy, &ladder()->confinement, &run);
	/* The second as EROFS, or EACCES who is not root. */
	assert_true(kgb_str_starts(run.out.ptr, "/proc/self/comm=ok\n/proc/sys/kernel/hostname=E"));
	guest_run_release(&run);
	kgb_policy_release(&policy);
}

static void test_the_first_process_ends_with_its_command(void **state)
{
	static const struct {
		const char *mode, *arg;
		int exit_code;
	} cases[] = {
		{"exit", "0", 0}, {"exit", "42", 42}, {"raise", "9", 137}, {"raise", "11", 139}};

	(void)state;
	need_sandbox();
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		struct kgb_policy policy;
		struct guest_run run;
		guest_policy(&policy, ARGS(cases[i].mode, cases[i].arg));
		run_guest_confined(&policy, &ladder()->confinement, &run);
		assert_int_equal(run.status.exit_code, cases[i].exit_code);
		assert_true(run.status.tree_empty);
		guest_run_release(&run);
		kgb_policy_release(&policy);
	}
}
/* A directory in a mounted hierarchy of version 2 in which groups can be made; false: none here. */
static bool make_group(char dir[256])
{
	struct kgb_err err = KGB_ERR_INIT;
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(1 << 20);
	KGB_AUTO(strv) struct kgb_strv lines = KGB_STRV_INIT;
	KGB_AUTO(fd) int fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);

	assert_ok(kgb_fs_read_fd(fd, 1 << 20, &text, &err), &err);
	kgb_strv_split(&lines, text.ptr, '\n');
	for (size_t i = 0; i < lines.n; i++) {
		KGB_AUTO(strv) struct kgb_strv words = KGB_STRV_INIT;
		if (!strstr(lines.items[i], " - cgroup2 "))
			continue;
		kgb_strv_split(&words, lines.items[i], ' ');
		(void)snprintf(dir, 256, "%s/kgb-test-%d", words.items[4], getpid());
		if (mkdir(dir, 0755) == 0)
			return true;
	}
	return false;
}

/* What a kernel with version 2 does without any controller: take processes, kill them, forget the
 * group. Limits need the controllers: test_a_fork_bomb... tries them where there are some. */
static void test_a_group_of_version_2_takes_its_processes_along(void **state)
{
	struct kgb_confinement confinement = {0};
	struct kgb_policy policy;
	struct guest_run run;

	(void)state;
	need_sandbox();
	if (!make_group(confinement.cgroup_v2))
		skip();
	guest_policy(&policy, ARGS("leave-daemon"));
	run_guest_confined(&policy, &confinement, &run);
	assert_string_equal(run.status.error, "");
	assert_string_equal(run.out.ptr, "ready\n");
	assert_true(run.status.tree_empty);
	assert_int_equal(run.status.cgroup_empty, 1);
	guest_run_release(&run);
	kgb_policy_release(&policy);
	assert_int_equal(rmdir(confinement.cgroup_v2), 0);
}

/* ---- policies for a GPU, without one ---- */

static bool has_mount(const struct kgb_policy *policy, const char *source, const char *target)
{
	for (size_t i = 0; i < policy->mounts.n; i++)
		if (policy->mounts.items[i].kind == KGB_MOUNT_DEV &&
		    kgb_str_eq(policy->mounts.items[i].target, target) &&
		    kgb_str_ends(policy->mounts.items[i].source, source))
			return true;
	return false;
}

/* Each of three GPUs by its place, its node alone, and none behind them. */
static void expect_gpus(const char *root, const char *const nodes[3])
{
	for (int index = 0; index < 3; index++) {
		struct kgb_err err = KGB_ERR_INIT;
		struct kgb_policy policy;
		kgb_policy_init(&policy);
		assert_int_equal(kgb_policy_one_gpu(&policy, root, 3, &err), -1);
		assert_int_equal(err.kind, KGB_ERR_NOT_FOUND);
		assert_int_equal(policy.mounts.n, 0);
		assert_ok(kgb_policy_one_gpu(&policy, root, index, &err), &err);
		for (int other = 0; other < 3; other++)
			assert_int_equal(has_mount(&policy, nodes[other], nodes[other]),
					 other == index);
		assert_true(has_mount(&policy, "/nvidiactl", "/dev/nvidiactl"));
		assert_true(has_mount(&policy, "/nvidia-uvm", "/dev/nvidia-uvm"));
		assert_false(has_mount(&policy, "/nvidia-modeset", "/dev/nvidia-modeset"));
		kgb_policy_release(&policy);
	}
}

static void test_one_gpu_is_shown_and_no_other(void **state)
{
	/* A container with three of five GPUs; the driver numbered one of them out of order. */
	static const struct {
		const char *address, *text;
	} driver[] = {{"0000:0a:00.0", "Model: x\nDevice Minor: \t 4\n"},
		      {"0000:1b:00.0", "Device Minor: 9\n"},
		      {"0000:2c:00.0", "Model: x\nDevice Minor: \t 0\nGPU Excluded:\t No\n"},
		      {"0000:9d:00.0", "Model: x\nDevice Minor: \t 1\n"},
		      {"0000:d0:00.0", "Model: x\nDevice Minor: \t 3\n"}};
	static const char *const nodes[] = {"nvidia0",   "nvidia3",    "nvidia4",
					    "nvidiactl", "nvidia-uvm", "nvidia-modeset"};
	static const char *const by_bus[] = {"/dev/nvidia4", "/dev/nvidia0", "/dev/nvidia3"};
	static const char *const by_node[] = {"/dev/nvidia0", "/dev/nvidia3", "/dev/nvidia4"};
	struct kgb_err err = KGB_ERR_INIT;
	char dir[] = "/tmp/kgb-gpus.XXXXXX";

	(void)state;
	assert_non_null(mkdtemp(dir));
	KGB_AUTO(fd) int fd = open(dir, O_RDONLY | O_DIRECTORY);
	assert_ok(kgb_fs_mkdirs(fd, "dev", 0755, &err), &err);
	for (size_t i = 0; i < KGB_ARRAY_LEN(nodes); i++) {
		KGB_AUTO(free) char *path = kgb_path_join("dev", nodes[i]);
		assert_int_equal(close(openat(fd, path, O_CREAT | O_WRONLY, 0600)), 0);
	}
	expect_gpus(dir, by_node);
	for (size_t i = 0; i < KGB_ARRAY_LEN(driver); i++) {
		KGB_AUTO(free)
		char *gpu = kgb_path_join("proc/driver/nvidia/gpus", driver[i].address);
		KGB_AUTO(free) char *path = kgb_path_join(gpu, "information");
		assert_ok(kgb_fs_mkdirs(fd, gpu, 0755, &err), &err);
		assert_ok(kgb_fs_write_atomic(fd, path, driver[i].text, strlen(driver[i].text),
					      0644, false, &err),
			  &err);
	}
	expect_gpus(dir, by_bus);
	assert_ok(kgb_fs_remove_tree(AT_FDCWD, dir, &err), &err);
}

/* ---- the tree ---- */

static void test_a_tree_holds_children_of_children_and_nobody_else(void **state)
{
	struct kgb_proc_tree tree = KGB_TREE_INIT;
	int go[2];
	char byte;

	(void)state;
	assert_int_equal(pipe2(go, O_CLOEXEC), 0);
	pid_t child = fork();
	if (child == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
		pid_t grandchild = fork();
		if (grandchild < 0)
			_exit(1);
		if (grandchild == 0) {
			(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
			(void)setsid();
			(void)!write(go[1], "x", 1);
		}
		for (;;)
			(void)pause();
	}
	assert_true(child > 0);
	(void)close(go[1]);
	assert_int_equal(read(go[0], &byte, 1), 1);
	assert_int_equal(kgb_proc_tree_scan(&tree, getpid()), 0);
	assert_int_equal(tree.n, 2);
	assert_int_equal(kgb_proc_tree_tasks(&tree), 2);
	assert_true(kgb_proc_tree_rss_pages(&tree) > 0);
	assert_true(kgb_proc_tree_io_bytes(child) >= 0 || access("/proc/self/io", F_OK) < 0);
	assert_int_equal(kgb_proc_tree_io_bytes(INT32_MAX), -1);
	assert_int_equal(kgb_proc_tree_find(&tree, child)->parent, getpid());
	assert_int_equal(kgb_proc_tree_parent(child), getpid());
	assert_null(kgb_proc_tree_find(&tree, getpid()));
	const struct kgb_proc_tree_process *first =
		tree.items[0].pid == child ? &tree.items[0] : &tree.items[1];
	assert_int_equal(first->pid, child);
	assert_int_equal(first->parent, getpid());
	struct kgb_proc_tree all = KGB_TREE_INIT;
	assert_int_equal(kgb_proc_tree_read(&all), 0);
	assert_int_equal(kgb_proc_tree_below(&all, getpid(), &tree), 0);
	assert_int_equal(tree.n, 2);
	assert_int_equal(kgb_proc_tree_below(&all, child, &tree), 0);
	assert_int_equal(tree.n, 1);
	assert_int_equal(tree.items[0].parent, child);
	kgb_proc_tree_release(&all);
	pid_t grandchild = tree.items[0].pid;
	assert_true(kgb_proc_tree_private_bytes(grandchild) != 0);
	(void)kill(grandchild, SIGKILL);
	(void)kill(child, SIGKILL);
	(void)waitpid(child, NULL, 0);
	assert_int_equal(kgb_proc_tree_scan(&tree, child), 0);
	assert_int_equal(tree.n, 0);
	kgb_proc_tree_release(&tree);
	(void)close(go[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_the_kernel_has_is_had),
		cmocka_unit_test(test_a_tree_holds_children_of_children_and_nobody_else),
		cmocka_unit_test(test_a_group_of_version_2_takes_its_processes_along),
		cmocka_unit_test(test_one_gpu_is_shown_and_no_other),
		cmocka_unit_test(test_the_ladder_has_steps_and_each_missing_one_a_reason),
		cmocka_unit_test(test_a_fork_bomb_is_ended_and_named),
		cmocka_unit_test(test_fewer_processes_than_allowed_are_nobodys_business),
		cmocka_unit_test(test_too_much_memory_ends_the_process_that_has_it),
		cmocka_unit_test(test_deleted_files_that_are_held_count),
		cmocka_unit_test(test_refused_calls_are_counted_by_name),
		cmocka_unit_test(test_sockets_are_refused_with_the_same_errors),
		cmocka_unit_test(test_an_address_outside_is_told),
		cmocka_unit_test(test_each_reach_outside_is_told_and_nothing_else),
		cmocka_unit_test(test_rules_leave_a_sandbox_usable),
		cmocka_unit_test(test_the_first_process_ends_with_its_command),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
