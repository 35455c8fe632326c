/* SPDX-License-Identifier: MIT */
#include "base/system/disk_cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/system/cache_dir.h"
#include "base/system/fs.h"
#include "base/vec.h"

/* A file is a head that names its key, the bytes, and the digest of all that. */
#define MAGIC "kgb store 1\n"

enum {
	HEX = KGB_SHA256_HEX_LEN - 1,
	HEAD = sizeof(MAGIC) - 1 + HEX + 1,
	LEAST_FILE = 4096, /* that a file takes on a disk */
	SWEEPS = 16, /* sweeps of the directory while `total_max` bytes are written */
	NAME_MAX_KEPT = 72,
};

struct kgb_disk_cache {
	int dir_fd;
	size_t entry_max;
	uint64_t total_max;
};

int kgb_disk_cache_new(struct kgb_disk_cache **out, const char *dir, size_t entry_max,
		       uint64_t total_max, struct kgb_err *err)
{
	KGB_AUTO(fd) int fd = -1;

	if (kgb_cache_dir_open(dir, &fd, err) < 0)
		return -1;
	struct kgb_disk_cache *store = kgb_xmalloc(sizeof(*store));
	*store = (struct kgb_disk_cache){
		.dir_fd = kgb_take_fd(&fd), .entry_max = entry_max, .total_max = total_max};
	*out = store;
	return 0;
}

void kgb_disk_cache_free(struct kgb_disk_cache *store)
{
	if (store)
		kgb_close(store->dir_fd);
	kgb_free(store);
}

struct kgb_disk_cache *kgb_disk_cache_try(const char *dir, size_t entry_max, uint64_t total_max)
{
	struct kgb_disk_cache *store = NULL;
	struct kgb_err err = KGB_ERR_INIT;

	if (dir && kgb_disk_cache_new(&store, dir, entry_max, total_max, &err) < 0)
		kgb_warn("nothing is kept for later verifications: %s", err.msg);
	return store;
}

static void add_head(struct kgb_buf *out, const char *key)
{
	kgb_buf_addf(out, MAGIC "%s\n", key);
}

static bool is_whole(const struct kgb_buf *file, const char *key)
{
	KGB_AUTO(buf) struct kgb_buf head = KGB_BUF_INIT(0);
	char hex[KGB_SHA256_HEX_LEN];

	add_head(&head, key);
	if (head.len != HEAD || file->len < HEAD + HEX || memcmp(file->ptr, head.ptr, HEAD) != 0)
		return false;
	kgb_sha256_tree_hex(file->ptr, file->len - HEX, hex);
	return memcmp(file->ptr + file->len - HEX, hex, HEX) == 0;
}

bool kgb_disk_cache_get(const struct kgb_disk_cache *store, const char *key, struct kgb_buf *out)
{
	if (!store)
		return false;

	const size_t most = HEAD + store->entry_max + HEX;
	KGB_AUTO(buf) struct kgb_buf file = KGB_BUF_INIT(most);
	KGB_AUTO(fd) int fd = -1;

	if (kgb_fs_open_untrusted(store->dir_fd, key, most, &fd, NULL) < 0 ||
	    !kgb_cache_is_ours(fd) || kgb_fs_read_fd(fd, most, &file, NULL) < 0 ||
	    !is_whole(&file, key))
		return false;
	kgb_buf_clear(out);
	return kgb_buf_add(out, file.ptr + HEAD, file.len - HEAD - HEX) == 0;
}

/* Decide about a sweep at random: the writing processes do not communicate, and most of them end
 * soon. */
static bool is_time_to_sweep(const struct kgb_disk_cache *store, size_t len)
{
	const uint64_t bytes = len < LEAST_FILE ? LEAST_FILE : len;
	const uint64_t step = store->total_max / SWEEPS + 1;
	uint64_t number;

	kgb_random(&number, sizeof(number));
	return number % step < bytes;
}

void kgb_disk_cache_put(const struct kgb_disk_cache *store, const char *key, const void *bytes,
			size_t len)
{
	KGB_AUTO(buf) struct kgb_buf file = KGB_BUF_INIT(0);
	char hex[KGB_SHA256_HEX_LEN];

	if (!store || len > store->entry_max)
		return;
	add_head(&file, key);
	kgb_buf_add(&file, bytes, len);
	kgb_sha256_tree_hex(file.ptr, file.len, hex);
	kgb_buf_add(&file, hex, HEX);
	if (kgb_fs_write_atomic(store->dir_fd, key, file.ptr, file.len, 0600, false, NULL) == 0 &&
	    is_time_to_sweep(store, file.len))
		kgb_disk_cache_sweep(store);
}

/* ---- sweeping ---- */

struct file {
	char name[NAME_MAX_KEPT];
	int64_t written_ns;
	uint64_t bytes;
};
struct files {
	KGB_VEC(struct file);
	uint64_t bytes;
};

static int by_age(const void *a, const void *b)
{
	const struct file *x = a;
	const struct file *y = b;

	return (x->written_ns > y->written_ns) - (x->written_ns < y->written_ns);
}

static void add_file(struct files *files, int dir_fd, const char *name)
{
	struct stat st;

	if (strlen(name) >= NAME_MAX_KEPT || fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    !S_ISREG(st.st_mode))
		return;
	KGB_VEC_GROW(files, 1);
	struct file *file = &files->items[files->n++];
	*file = (struct file){
		.written_ns = (int64_t)st.st_mtim.tv_sec * 1000000000 + (int64_t)st.st_mtim.tv_nsec,
		.bytes = st.st_size < LEAST_FILE ? LEAST_FILE : (uint64_t)st.st_size,
	};
	memcpy(file->name, name, strlen(name) + 1);
	files->bytes += file->bytes;
}

static void list(struct files *files, int dir_fd)
{
	const struct dirent *entry;
	int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (!dir) {
		kgb_close(fd);
		return;
	}
	while ((entry = readdir(dir)) != NULL)
		add_file(files, dir_fd, entry->d_name);
	(void)closedir(dir);
}

void kgb_disk_cache_sweep(const struct kgb_disk_cache *store)
{
	struct files files = {0};

	list(&files, store->dir_fd);
	if (files.bytes > store->total_max) {
		qsort(files.items, files.n, sizeof(files.items[0]), by_age);
		for (size_t i = 0; i < files.n && files.bytes > store->total_max / 4 * 3; i++) {
			(void)unlinkat(store->dir_fd, files.items[i].name, 0);
			files.bytes -= files.items[i].bytes;
		}
	}
	KGB_VEC_RELEASE(&files);
}
