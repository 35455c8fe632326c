/* SPDX-License-Identifier: MIT */
#include "verify/recorder/images.h"

#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/vec.h"
#include "verify/protocol/image_length.h"
#include "verify/protocol/record.h"

#define WRAPPER_MAGIC 0x466243b1u

struct fatbin_wrapper {
	uint32_t magic;
	uint32_t version;
	const void *fatbin;
	const void *more;
};

/* ---- Lengths ---- */

int kgb_image_measure(const void *image, size_t limit, const unsigned char **start, size_t *len,
		      struct kgb_err *err)
{
	const unsigned char *bytes = image;
	struct fatbin_wrapper wrapper;
	size_t measured = 0;

	if (!image || limit < sizeof(wrapper.magic))
		return kgb_fail(err, KGB_ERR_INVALID, "no image");
	memcpy(&wrapper.magic, bytes, sizeof(wrapper.magic));
	if (wrapper.magic == WRAPPER_MAGIC) {
		if (limit < sizeof(wrapper))
			return kgb_fail(err, KGB_ERR_LIMIT, "image is longer than %zu bytes",
					limit);
		memcpy(&wrapper, bytes, sizeof(wrapper));
		if (!wrapper.fatbin)
			return kgb_fail(err, KGB_ERR_INVALID, "wrapper without a fatbin");
		bytes = wrapper.fatbin;
	}
	if (kgb_image_length(bytes, limit, &measured, err))
		return -1;
	*start = bytes;
	*len = measured;
	return 0;
}

/* ---- The table ---- */

struct borrow_query {
	const unsigned char *bytes;
	size_t len;
	bool found;
};

static int on_loaded_object(struct dl_phdr_info *object, size_t size, void *payload)
{
	struct borrow_query *query = payload;
	const uint64_t first = (uint64_t)(uintptr_t)query->bytes;

	(void)size;
	for (unsigned i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
		const uint64_t start = object->dlpi_addr + segment->p_vaddr;

		if (segment->p_type != PT_LOAD || (segment->p_flags & PF_W) || first < start)
			continue;
		if (first - start <= segment->p_memsz &&
		    query->len <= segment->p_memsz - (first - start)) {
			query->found = true;
			return 1;
		}
	}
	return 0;
}

/* Bytes that lie read-only in a loaded library need no copy: torch brings hundreds of MB. */
static bool lies_in_library(const unsigned char *bytes, size_t len)
{
	struct borrow_query query = {.bytes = bytes, .len = len};

	dl_iterate_phdr(on_loaded_object, &query);
	return query.found;
}

static struct kgb_image_entry *add_entry(struct kgb_images *images)
{
	KGB_VEC_ADD(images, (struct kgb_image_entry){.id = ++images->last_id});
	return &images->items[images->n - 1];
}

static void bind_handle(struct kgb_images *images, uint64_t flag, uint64_t handle,
			struct kgb_image_entry *entry)
{
	const uint64_t value = entry->id | flag;

	entry->n_handles++;
	/* A handle that the driver gives out again belongs to the new image. This may move the
	 * entries. */
	kgb_images_unload(images, handle);
	kgb_address_table_put(&images->handles, handle, value);
}

static void refuse(struct kgb_images *images, uint64_t flag, uint64_t handle, const char *why)
{
	struct kgb_image_entry *entry = add_entry(images);

	entry->refused = why;
	bind_handle(images, flag, handle, entry);
}

static struct kgb_image_entry *find_bytes(const struct kgb_images *images,
					  const unsigned char *bytes, size_t len)
{
	for (size_t i = 0; i < images->n; i++) {
		struct kgb_image_entry *entry = &images->items[i];

		if (entry->bytes && entry->len == len &&
		    (entry->bytes == bytes || memcmp(entry->bytes, bytes, len) == 0))
			return entry;
	}
	return NULL;
}

void kgb_images_put(struct kgb_images *images, uint64_t flag, uint64_t handle, const void *bytes,
		    size_t len)
{
	KGB_ASSERT(bytes != NULL);
	struct kgb_image_entry *entry = find_bytes(images, bytes, len);

	if (entry) {
		bind_handle(images, flag, handle, entry);
		return;
	}
	if (lies_in_library(bytes, len)) {
		entry = add_entry(images);
		entry->bytes = bytes;
	} else if (len > KGB_IMAGES_OWNED_MAX - images->owned_bytes) {
		refuse(images, flag, handle, "too many bytes of images");
		return;
	} else {
		entry = add_entry(images);
		entry->owned = kgb_xmalloc(len);
		memcpy(entry->owned, bytes, len);
		entry->bytes = entry->owned;
		images->owned_bytes += len;
	}
	entry->len = len;
	bind_handle(images, flag, handle, entry);
}

void kgb_images_load(struct kgb_images *images, uint64_t flag, uint64_t handle, const void *image)
{
	struct kgb_err err = KGB_ERR_INIT;
	const unsigned char *bytes = NULL;
	size_t len = 0;

	if (kgb_image_measure(image, KGB_RECORD_IMAGE_BYTES_MAX, &bytes, &len, &err)) {
		refuse(images, flag, handle,
		       err.kind == KGB_ERR_LIMIT ? "image too long"
						 : "image is no cubin or fatbin");
		return;
	}
	kgb_images_put(images, flag, handle, bytes, len);
}

/* The whole file with a zero byte behind it, or NULL. */
static unsigned char *slurp(const char *path, size_t *len)
{
	KGB_AUTO(fd) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	unsigned char *bytes;
	size_t got = 0;

	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size <= 0 ||
	    st.st_size > KGB_RECORD_IMAGE_BYTES_MAX)
		return NULL;
	*len = (size_t)st.st_size;
	bytes = kgb_xcalloc(1, *len + 1);
	while (got < *len) {
		const ssize_t n = read(fd, bytes + got, *len - got);

		if (n <= 0) {
			kgb_free(bytes);
			return NULL;
		}
		got += (size_t)n;
	}
	return bytes;
}

void kgb_images_load_file(struct kgb_images *images, uint64_t flag, uint64_t handle,
			  const char *path)
{
	struct kgb_err err = KGB_ERR_INIT;
	size_t len = 0, measured = 0;
	KGB_AUTO(free) unsigned char *bytes = slurp(path, &len);

	/* A file holds no wrapper: that struct has a pointer in it. */
	if (!bytes || kgb_image_length(bytes, len, &measured, &err)) {
		refuse(images, flag, handle, "image file is no cubin or fatbin");
		return;
	}
	kgb_images_load(images, flag, handle, bytes);
}

static void forget(struct kgb_images *images, struct kgb_image_entry *entry)
{
	const size_t i = (size_t)(entry - images->items);

	if (entry->owned)
		images->owned_bytes -= entry->len;
	kgb_free(entry->owned);
	memmove(entry, entry + 1, (images->n - i - 1) * sizeof(*entry));
	images->n--;
}

uint32_t kgb_images_unload(struct kgb_images *images, uint64_t handle)
{
	const uint32_t id = kgb_images_of(images, handle);
	struct kgb_image_entry *entry = kgb_images_find(images, id);

	if (!entry)
		return 0;
	kgb_address_table_drop(&images->handles, handle);
	entry->n_handles--;
	if (entry->n_handles == 0 && !entry->used)
		forget(images, entry);
	return id;
}

uint32_t kgb_images_of(const struct kgb_images *images, uint64_t handle)
{
	const struct kgb_entry *known = kgb_address_table_find(&images->handles, handle);

	return known ? (uint32_t)known->value : 0;
}

struct kgb_image_entry *kgb_images_find(const struct kgb_images *images, uint32_t id)
{
	size_t low = 0, high = images->n;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (images->items[middle].id == id)
			return &images->items[middle];
		if (images->items[middle].id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

void kgb_images_end_window(struct kgb_images *images)
{
	for (size_t i = images->n; i-- > 0;) {
		images->items[i].used = false;
		if (images->items[i].n_handles == 0)
			forget(images, &images->items[i]);
	}
}

void kgb_images_start_record(struct kgb_images *images)
{
	for (size_t i = 0; i < images->n; i++)
		images->items[i].written = false;
}

void kgb_images_release(struct kgb_images *images)
{
	for (size_t i = 0; i < images->n; i++)
		kgb_free(images->items[i].owned);
	kgb_free(images->items);
	kgb_address_table_release(&images->handles);
	*images = (struct kgb_images){0};
}
