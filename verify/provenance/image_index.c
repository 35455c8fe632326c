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

static int by_digest(const void *a, const void *b)
{
	return memcmp(a, b, HEX);
}

static int add_digest(struct kgb_library_images *library, const void *bytes, size_t len,
		      struct kgb_err *err)
{
	struct kgb_image_digest digest = {.sha256 = ""};

	if (library->digests.n == KGB_INDEX_IMAGES_MAX)
		return kgb_fail(err, KGB_ERR_LIMIT, "more than %u images", KGB_INDEX_IMAGES_MAX);
	kgb_sha256_hex(bytes, len, digest.sha256);
	KGB_VEC_ADD(&library->digests, digest);
	return 0;
}

/* A fatbin as a whole, and each plain cubin in it: a process may load either. */
static int add_fatbin(const void *bytes, size_t len, void *payload, struct kgb_err *err)
{
	struct kgb_library_images *library = payload;
	struct kgb_fatbin_entry entry;
	bool broken;

	if (add_digest(library, bytes, len, err) < 0)
		return -1;
	for (size_t at = 0; kgb_fatbin_next(bytes, len, &at, &entry, &broken);)
		if (entry.kind == KGB_FATBIN_ELF && !entry.compressed &&
		    add_digest(library, entry.data, entry.n_bytes, err) < 0)
			return -1;
	return broken ? kgb_fail(err, KGB_ERR_INVALID, "a fatbin with a broken entry") : 0;
}

static int scan(int fd, size_t size, struct kgb_library_images *library, struct kgb_err *err)
{
	if (size == 0)
		return kgb_fail(err, KGB_ERR_INVALID, "the file is empty");
	void *bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (bytes == MAP_FAILED)
		return kgb_fail_errno(err, errno, "mmap");
	int result = kgb_fatbin_each(bytes, size, add_fatbin, library, err);
	munmap(bytes, size);
	if (result == 0 && library->digests.n > 1)
		qsort(library->digests.items, library->digests.n, sizeof(*library->digests.items),
		      by_digest);
	return result;
}

/* ---- the cache ---- */

/* The key changes when the library is replaced or rewritten, and with the version of this format.
 */
static void make_key(const char *path, const struct stat *st, char key[KGB_SHA256_HEX_LEN])
{
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);

	kgb_buf_addf(&text, "image index 3\n%ju %ju %jd %jd.%09ld\n%s\n", (uintmax_t)st->st_dev,
		     (uintmax_t)st->st_ino, (intmax_t)st->st_size, (intmax_t)st->st_mtim.tv_sec,
		     st->st_mtim.tv_nsec, path);
	kgb_sha256_hex(text.ptr, text.len, key);
}

static bool recall(const struct kgb_disk_cache *store, const char *key,
		   struct kgb_library_images *library)
{
	KGB_AUTO(buf) struct kgb_buf bytes = KGB_BUF_INIT(0);

	if (!kgb_disk_cache_get(store, key, &bytes) ||
	    bytes.len % sizeof(*library->digests.items) != 0)
		return false;
	const size_t n = bytes.len / sizeof(*library->digests.items);
	KGB_VEC_GROW(&library->digests, n + 1);
	memcpy(library->digests.items, bytes.ptr, bytes.len);
	library->digests.n = n;
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
	/* The digests as they lie in memory. */
	kgb_disk_cache_put(store, key, library->digests.n > 0 ? (char *)library->digests.items : "",
			   library->digests.n * sizeof(*library->digests.items));
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
		KGB_VEC_RELEASE(&library.digests);
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
		if (library->digests.n > 0 &&
		    bsearch(image_sha256, library->digests.items, library->digests.n,
			    sizeof(*library->digests.items), by_digest))
			return library->name;
	}
	return NULL;
}

void kgb_image_index_release(struct kgb_image_index *index)
{
	for (size_t i = 0; i < index->n_libraries; i++) {
		kgb_free(index->libraries[i].name);
		KGB_VEC_RELEASE(&index->libraries[i].digests);
	}
	index->n_libraries = 0;
}
