/* SPDX-License-Identifier: MIT */
#include "verify/judge/image_index.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/str.h"
#include "verify/judge/cache.h"
#include "verify/judge/fatbin.h"

/* A cache file is text: a head that repeats the library's identity, one digest per line, and the
 * digest of all that. Another version of the format is another identity. */
#define FORMAT "kgb image index 1\n"

enum {
	HEX = KGB_SHA256_HEX_LEN - 1,
	LINE = HEX + 1,
	HEAD_MAX = 8192,
};
#define CACHE_BYTES_MAX (HEAD_MAX + (size_t)LINE * (KGB_INDEX_IMAGES_MAX + 1))

struct builder {
	struct kgb_library_images *library;
	size_t cap;
};

static int by_digest(const void *a, const void *b)
{
	return memcmp(a, b, HEX);
}

static int add_digest(struct builder *builder, const void *bytes, size_t len, struct kgb_err *err)
{
	struct kgb_library_images *library = builder->library;

	if (library->n_digests == KGB_INDEX_IMAGES_MAX)
		return kgb_fail(err, KGB_ERR_LIMIT, "more than %u images", KGB_INDEX_IMAGES_MAX);
	if (library->n_digests == builder->cap) {
		builder->cap = builder->cap ? 2 * builder->cap : 1024;
		library->digests = kgb_xreallocarray(library->digests, builder->cap,
						     sizeof(*library->digests));
	}
	kgb_sha256_hex(bytes, len, library->digests[library->n_digests++]);
	return 0;
}

/* A fatbin as a whole, and each plain cubin in it: a process may load either. */
static int add_fatbin(const void *bytes, size_t len, void *payload, struct kgb_err *err)
{
	struct builder *builder = payload;
	struct kgb_fatbin_entry entry;
	bool broken;

	builder->library->n_fatbins++;
	if (add_digest(builder, bytes, len, err) < 0)
		return -1;
	for (size_t at = 0; kgb_fatbin_next(bytes, len, &at, &entry, &broken);)
		if (entry.kind == KGB_FATBIN_ELF && !entry.compressed &&
		    add_digest(builder, entry.data, entry.n_bytes, err) < 0)
			return -1;
	if (broken)
		return kgb_fail(err, KGB_ERR_INVALID, "a fatbin with a broken entry");
	return 0;
}

static int scan(int fd, size_t size, struct kgb_library_images *library, struct kgb_err *err)
{
	struct builder builder = {.library = library};

	if (size == 0)
		return kgb_fail(err, KGB_ERR_INVALID, "the file is empty");
	void *bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (bytes == MAP_FAILED)
		return kgb_fail_errno(err, errno, "mmap");
	int result = kgb_fatbin_each(bytes, size, add_fatbin, &builder, err);
	munmap(bytes, size);
	if (result == 0 && library->n_digests > 1)
		qsort(library->digests, library->n_digests, sizeof(*library->digests), by_digest);
	return result;
}

/* ---- the cache ---- */

/* The first lines of a library's cache file. A library that was replaced or rewritten has others.
 */
static void write_head(struct kgb_buf *out, const char *path, const struct stat *st)
{
	kgb_buf_addf(out, FORMAT "%ju %ju %jd %jd.%09ld\n%s\n", (uintmax_t)st->st_dev,
		     (uintmax_t)st->st_ino, (intmax_t)st->st_size, (intmax_t)st->st_mtim.tv_sec,
		     st->st_mtim.tv_nsec, path);
}

static char *cache_name(const struct kgb_buf *head)
{
	char hex[KGB_SHA256_HEX_LEN];

	kgb_sha256_hex(head->ptr, head->len, hex);
	return kgb_xasprintf("%.32s.images", hex);
}

/* Digests in ascending order up to the end of text; false when it is anything else. */
static bool read_digests(const char *text, size_t len, struct kgb_library_images *library)
{
	static const char digits[] = "0123456789abcdef";

	if (len % LINE != 0 || len / LINE > KGB_INDEX_IMAGES_MAX)
		return false;
	const size_t n = len / LINE;
	library->digests = kgb_xcalloc(n + 1, sizeof(*library->digests));
	for (size_t i = 0; i < n; i++) {
		const char *line = text + i * LINE;
		if (line[HEX] != '\n' || strspn(line, digits) != HEX ||
		    (i > 0 && memcmp(line - LINE, line, HEX) > 0))
			return false;
		memcpy(library->digests[i], line, HEX);
	}
	library->n_digests = n;
	return true;
}

/* head, "N fatbins\n", digests, digest of all before */
static bool parse_cache(const struct kgb_buf *text, const struct kgb_buf *head,
			struct kgb_library_images *library)
{
	char hex[KGB_SHA256_HEX_LEN];
	char count[64];

	if (text->len < head->len + LINE || memcmp(text->ptr, head->ptr, head->len) != 0)
		return false;
	const char *sum = text->ptr + text->len - LINE;
	kgb_sha256_hex(text->ptr, text->len - LINE, hex);
	if (memcmp(sum, hex, HEX) != 0)
		return false;
	const char *at = text->ptr + head->len;
	const char *end = memchr(at, ' ', (size_t)(sum - at));
	struct kgb_err ignored = KGB_ERR_INIT;
	int64_t n_fatbins;
	if (!end || (size_t)(end - at) >= sizeof(count) || !kgb_str_starts(end, " fatbins\n"))
		return false;
	memcpy(count, at, (size_t)(end - at));
	count[end - at] = '\0';
	if (kgb_parse_i64(count, 0, KGB_INDEX_IMAGES_MAX, &n_fatbins, &ignored) < 0)
		return false;
	at = end + strlen(" fatbins\n");
	library->n_fatbins = (size_t)n_fatbins;
	return sum >= at && read_digests(at, (size_t)(sum - at), library);
}

static bool read_cache(int dir_fd, const char *name, const struct kgb_buf *head,
		       struct kgb_library_images *library)
{
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(CACHE_BYTES_MAX);
	struct kgb_err ignored = KGB_ERR_INIT;
	struct kgb_library_images found = {0};

	if (kgb_fs_read_untrusted(dir_fd, name, CACHE_BYTES_MAX, &text, &ignored) < 0)
		return false;
	if (!parse_cache(&text, head, &found)) {
		kgb_free(found.digests);
		return false;
	}
	library->digests = found.digests;
	library->n_digests = found.n_digests;
	library->n_fatbins = found.n_fatbins;
	library->cached = true;
	return true;
}

static int write_cache(int dir_fd, const char *name, const struct kgb_buf *head,
		       const struct kgb_library_images *library, struct kgb_err *err)
{
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(CACHE_BYTES_MAX);
	char hex[KGB_SHA256_HEX_LEN];

	kgb_buf_add(&text, head->ptr, head->len);
	kgb_buf_addf(&text, "%zu fatbins\n", library->n_fatbins);
	for (size_t i = 0; i < library->n_digests; i++)
		kgb_buf_addf(&text, "%s\n", library->digests[i]);
	kgb_sha256_hex(text.ptr, text.len, hex);
	kgb_buf_addf(&text, "%s\n", hex);
	return kgb_fs_write_atomic(dir_fd, name, text.ptr, text.len, 0600, false, err);
}

/* ---- */

static int load(const char *path, int fd, const char *cache_dir, struct kgb_library_images *library,
		struct kgb_err *err)
{
	KGB_AUTO(buf) struct kgb_buf head = KGB_BUF_INIT(HEAD_MAX);
	KGB_AUTO(fd) int dir_fd = -1;
	struct stat st;

	if (fstat(fd, &st) < 0)
		return kgb_fail_errno(err, errno, "stat");
	if (!S_ISREG(st.st_mode))
		return kgb_fail(err, KGB_ERR_INVALID, "not a regular file");
	if (!cache_dir)
		return scan(fd, (size_t)st.st_size, library, err);
	write_head(&head, path, &st);
	if (head.overflowed)
		return kgb_fail(err, KGB_ERR_LIMIT, "path of more than %d bytes", HEAD_MAX);
	KGB_AUTO(free) char *name = cache_name(&head);
	if (kgb_fs_mkdirs(AT_FDCWD, cache_dir, 0700, err) < 0 ||
	    kgb_fs_opendir(AT_FDCWD, cache_dir, &dir_fd, err) < 0)
		return -1;
	if (kgb_cache_is_ours(dir_fd) && read_cache(dir_fd, name, &head, library))
		return 0;
	if (scan(fd, (size_t)st.st_size, library, err) < 0)
		return -1;
	return write_cache(dir_fd, name, &head, library, err);
}

int kgb_image_index_add(struct kgb_image_index *index, const char *path, const char *cache_dir,
			struct kgb_err *err)
{
	KGB_AUTO(fd) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct kgb_library_images library = {0};

	if (fd < 0)
		return kgb_fail_errno(err, errno, "open '%s'", path);
	if (index->n_libraries == KGB_INDEX_LIBRARIES_MAX)
		return kgb_fail(err, KGB_ERR_LIMIT, "more than %d libraries with device code",
				KGB_INDEX_LIBRARIES_MAX);
	if (load(path, fd, cache_dir, &library, err) < 0) {
		kgb_free(library.digests);
		return kgb_ctx(err, "device code of '%s'", path);
	}
	const char *slash = strrchr(path, '/');
	library.name = kgb_xstrdup(slash ? slash + 1 : path);
	index->libraries[index->n_libraries++] = library;
	return 0;
}

const char *kgb_image_index_find(const struct kgb_image_index *index, const void *bytes, size_t len)
{
	char hex[KGB_SHA256_HEX_LEN];

	kgb_sha256_hex(bytes, len, hex);
	for (size_t i = 0; i < index->n_libraries; i++) {
		const struct kgb_library_images *library = &index->libraries[i];
		if (library->n_digests > 0 && bsearch(hex, library->digests, library->n_digests,
						      sizeof(*library->digests), by_digest))
			return library->name;
	}
	return NULL;
}

void kgb_image_index_release(struct kgb_image_index *index)
{
	for (size_t i = 0; i < index->n_libraries; i++) {
		kgb_free(index->libraries[i].name);
		kgb_free(index->libraries[i].digests);
	}
	index->n_libraries = 0;
}
