/* SPDX-License-Identifier: MIT */
#include "verify/provenance/image_index.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "verify/provenance/fatbin.h"

enum { HEX = KGB_SHA256_HEX_LEN - 1 };

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

/* A library that was replaced or rewritten is another one, and so is another version of this. */
static void make_key(const char *path, const struct stat *st, char key[KGB_SHA256_HEX_LEN])
{
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);

	kgb_buf_addf(&text, "image index 2\n%ju %ju %jd %jd.%09ld\n%s\n", (uintmax_t)st->st_dev,
		     (uintmax_t)st->st_ino, (intmax_t)st->st_size, (intmax_t)st->st_mtim.tv_sec,
		     st->st_mtim.tv_nsec, path);
	kgb_sha256_hex(text.ptr, text.len, key);
}

/* The number of fatbins, then the digests as they lie in memory. */
static void keep(const struct kgb_disk_cache *store, const char *key,
		 const struct kgb_library_images *library)
{
	KGB_AUTO(buf) struct kgb_buf bytes = KGB_BUF_INIT(0);
	const uint64_t n_fatbins = library->n_fatbins;

	kgb_buf_add(&bytes, &n_fatbins, sizeof(n_fatbins));
	kgb_buf_add(&bytes, library->digests, library->n_digests * sizeof(*library->digests));
	kgb_disk_cache_put(store, key, bytes.ptr, bytes.len);
}

static bool recall(const struct kgb_disk_cache *store, const char *key,
		   struct kgb_library_images *library)
{
	KGB_AUTO(buf) struct kgb_buf bytes = KGB_BUF_INIT(0);
	uint64_t n_fatbins;

	if (!kgb_disk_cache_get(store, key, &bytes) || bytes.len < sizeof(n_fatbins) ||
	    (bytes.len - sizeof(n_fatbins)) % sizeof(*library->digests) != 0)
		return false;
	const size_t len = bytes.len - sizeof(n_fatbins);
	memcpy(&n_fatbins, bytes.ptr, sizeof(n_fatbins));
	library->n_fatbins = n_fatbins;
	library->n_digests = len / sizeof(*library->digests);
	library->digests = kgb_xmalloc(len + 1);
	memcpy(library->digests, bytes.ptr + sizeof(n_fatbins), len);
	library->cached = true;
	return true;
}

/* ---- */

static int load(const char *path, int fd, const struct kgb_disk_cache *store,
		struct kgb_library_images *library, struct kgb_err *err)
{
	char key[KGB_SHA256_HEX_LEN];
	struct stat st;

	if (fstat(fd, &st) < 0)
		return kgb_fail_errno(err, errno, "stat");
	if (!S_ISREG(st.st_mode))
		return kgb_fail(err, KGB_ERR_INVALID, "not a regular file");
	make_key(path, &st, key);
	if (recall(store, key, library))
		return 0;
	if (scan(fd, (size_t)st.st_size, library, err) < 0)
		return -1;
	keep(store, key, library);
	return 0;
}

int kgb_image_index_add(struct kgb_image_index *index, const char *path,
			const struct kgb_disk_cache *store, struct kgb_err *err)
{
	KGB_AUTO(fd) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct kgb_library_images library = {0};

	if (fd < 0)
		return kgb_fail_errno(err, errno, "open '%s'", path);
	if (index->n_libraries == KGB_INDEX_LIBRARIES_MAX)
		return kgb_fail(err, KGB_ERR_LIMIT, "more than %d libraries with device code",
				KGB_INDEX_LIBRARIES_MAX);
	if (load(path, fd, store, &library, err) < 0) {
		kgb_free(library.digests);
		return kgb_ctx(err, "device code of '%s'", path);
	}
	const char *slash = strrchr(path, '/');
	library.name = kgb_xstrdup(slash ? slash + 1 : path);
	index->libraries[index->n_libraries++] = library;
	return 0;
}

const char *kgb_image_index_find(const struct kgb_image_index *index, const char *image_sha256)
{
	for (size_t i = 0; i < index->n_libraries; i++) {
		const struct kgb_library_images *library = &index->libraries[i];
		if (library->n_digests > 0 &&
		    bsearch(image_sha256, library->digests, library->n_digests,
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
