/* SPDX-License-Identifier: MIT */
/** \file
 * The rights of a sandboxed process as data: mounts in order, environment, limits, network.
 * sandbox/isolation/bwrap.h turns a policy into a command that enforces it.
 *
 * A policy owns copies of everything it is given (one arena) and is read-only once it is used, so
 * one policy may start many sandboxes. No thread safety beyond that.
 */
#ifndef KGB_SANDBOX_ISOLATION_POLICY_H
#define KGB_SANDBOX_ISOLATION_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/vec.h"

enum kgb_mount_kind {
	KGB_MOUNT_RO, /* bind, read-only */
	KGB_MOUNT_RO_TRY, /* bind, read-only, skipped when the source does not exist */
	KGB_MOUNT_RW, /* bind, writable */
	KGB_MOUNT_DEV, /* bind that keeps device nodes usable (GPU nodes need it) */
	KGB_MOUNT_TMPFS, /* empty memory file system of at most size_bytes */
	KGB_MOUNT_DIR, /* empty directory in the (memory) root */
	KGB_MOUNT_SYMLINK, /* source is the link's text */
	KGB_MOUNT_DATA, /* file with the text of source, in the (memory) root that is sealed */
	/** The same with the contents of a small file of the host; left out when there is no
	 * readable one. A copy costs a tenth of a mount. */
	KGB_MOUNT_COPY,
	KGB_MOUNT_PROC, /* new /proc of the sandbox's PID namespace */
	KGB_MOUNT_DEVFS, /* minimal /dev: null zero full random urandom tty pts shm */
	/** Make an earlier mount read-only, without the mounts below it. "/" always becomes
	 * read-only at the end. */
	KGB_MOUNT_SEAL,
};

struct kgb_mount {
	enum kgb_mount_kind kind;
	const char *source; /* NULL where the kind has none */
	const char *target; /* absolute path inside */
	int64_t size_bytes; /* TMPFS only */
};

struct kgb_env {
	const char *name;
	const char *value;
};

enum kgb_network {
	KGB_NETWORK_NONE, /* an empty network namespace: loopback only, no routes */
	/** The same, plus one socket listening on 127.0.0.1:listen_port that is handed to us. */
	KGB_NETWORK_LISTENER,
};

/** 0: leave as it is. Core dumps are always off. */
struct kgb_limits {
	/* Of each process, by setrlimit(2). */
	int64_t n_open_files;
	int64_t n_processes; /* counted per user: useless when the caller is root */
	int64_t file_size_bytes;
	int64_t address_space_bytes; /* breaks V8/JSC and CUDA, fine for small native programs */
	/* Of all together, by a cgroup or by scans; see launch_limits.c. */
	int64_t n_tasks; /* processes and threads: more end the sandbox */
	int64_t memory_bytes; /* more ends the largest process */
	int64_t nameless_bytes; /* of files on a disk that no name leads to: more end the sandbox */
};

struct kgb_policy {
	struct kgb_arena arena; /* owns all strings below */
	KGB_VEC(struct kgb_mount) mounts;
	KGB_VEC(struct kgb_env) env;
	struct kgb_strv argv;
	const char *cwd; /* inside; NULL: "/" */
	const char *hostname; /* NULL: "kgb" */
	uid_t uid; /* inside; 1000 after kgb_policy_init */
	gid_t gid;
	enum kgb_network network;
	uint16_t listen_port;
	/** Let the inside create user namespaces and mount in them (the runner's zygote). Set it
	 * before kgb_policy_base: making a user namespace needs writes to /proc/PID. */
	bool allow_nested_userns;
	struct kgb_limits limits;
};

/** An empty policy: uid and gid 1000, no network, no mounts. Pair with kgb_policy_release. */
void kgb_policy_init(struct kgb_policy *policy);
void kgb_policy_release(struct kgb_policy *policy);
void kgb_auto_policy(struct kgb_policy *policy);

struct kgb_policy_base_spec {
	const char *home; /* host directory, writable at /home/agent; NULL: an empty tmpfs */
	int64_t tmp_bytes; /* size of /tmp; 0: 1 GiB */
	int64_t shm_bytes; /* size of /dev/shm; 0: 256 MiB */
};
/** The part every sandbox shares: read-only /usr with /bin, /lib ... as on this host, the few /etc
 * files that programs need (passwd and group name only root, agent and nobody), /proc (read-only),
 * /dev, sized /tmp and /dev/shm, HOME=/home/agent, TMPDIR=/tmp, PATH, LANG, USER; cwd is
 * /home/agent. Nothing else of the host is visible. Call it first: later mounts lie on top. Core
 * dumps off. */
KGB_MUST_CHECK int kgb_policy_base(struct kgb_policy *policy,
				   const struct kgb_policy_base_spec *spec, struct kgb_err *err);

/* Mounts happen in the order of the calls; a later one covers an earlier one. Parents of a target
 * are made as needed. `source` is NULL where the kind has none. */
void kgb_policy_mount(struct kgb_policy *policy, enum kgb_mount_kind kind, const char *source,
		      const char *target);
void kgb_policy_tmpfs(struct kgb_policy *policy, const char *target, int64_t size_bytes);

/** Let processes write below /proc/self; all else in /proc stays read-only. CUDA names its threads
 * in /proc/self/task and fails without that right (error 304). After kgb_policy_base. */
KGB_MUST_CHECK int kgb_policy_name_threads(struct kgb_policy *policy, struct kgb_err *err);

/** Set a variable, replacing an earlier value. The environment inside is exactly what was set, and
 * PWD. */
void kgb_policy_setenv(struct kgb_policy *policy, const char *name, const char *value);
/** The value set, or NULL. */
const char *kgb_policy_getenv(const struct kgb_policy *policy, const char *name);
/** Append one argument of the command; the first is the program (absolute, or found in PATH
 * inside). */
void kgb_policy_arg(struct kgb_policy *policy, const char *arg);
void kgb_policy_set_cwd(struct kgb_policy *policy, const char *cwd);

/** Make a Python interpreter usable inside at its own path: binds (read-only) its virtual
 * environment, if it is one, and every base installation it leads to (pyvenv.cfg `home`, links of
 * bin/python) that is not under /usr. `python` is a path on the host. NOT_FOUND when it does not
 * exist, INVALID when it is a wrapper and not the interpreter of an installation. */
KGB_MUST_CHECK int kgb_policy_python(struct kgb_policy *policy, const char *python,
				     struct kgb_err *err);

/** Show one NVIDIA GPU and no other: its node, those that all GPUs share, and a read-only /sys.
 * `index` counts the GPUs that have a node here as CUDA does, in the order of the PCI bus: inside
 * it is GPU 0. `root` is "", or where a test has its own /dev and /proc. After kgb_policy_base.
 * NOT_FOUND when there is no such GPU. */
KGB_MUST_CHECK int kgb_policy_one_gpu(struct kgb_policy *policy, const char *root, int index,
				      struct kgb_err *err);

/** Check that a sandbox may have a variable of this name. INVALID when it is no name, DENIED for
 * those of the dynamic loader. */
KGB_MUST_CHECK int kgb_policy_check_env(const char *name, struct kgb_err *err);
/** Refuse an invalid policy before anything is started: no command, relative targets, bad or
 * dangerous (LD_*) variable names, listener without port, bind sources that do not exist, files of
 * data that a process inside could write. bwrap.h calls it. */
KGB_MUST_CHECK int kgb_policy_check(const struct kgb_policy *policy, struct kgb_err *err);

#endif
