/* SPDX-License-Identifier: MIT */
#include "verify/lane/truth_cache.h"

#include "base/limits.h"
#include "base/mem.h"

/* An entry is this head, the descriptions of the results, and their bytes. */
struct entry_head {
	uint64_t n_outputs;
	uint64_t n_bytes;
};

bool kgb_truth_key(const struct kgb_truth_place *place, const struct kgb_case_data *data,
		   char key[KGB_SHA256_HEX_LEN])
{
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	char hex[KGB_SHA256_HEX_LEN];
	size_t total = 0;

	for (size_t i = 0; i < data->kase->n_args; i++)
		total += data->storage_bytes[i];
	if (!place->identity[0] || !place->device[0] || total > KGB_TRUTH_CACHE_INPUT_MAX)
		return false;
	kgb_buf_addf(&text, "truth 1\n%s\n%s\n%s\n%s\n", KGB_VERSION, place->identity,
		     place->device, place->spec_sha256);
	kgb_case_data_write_request(data, true, &text);
	for (size_t i = 0; i < data->kase->n_args; i++) {
		if (!data->storages[i])
			continue;
		kgb_sha256_tree_hex(data->storages[i], data->storage_bytes[i], hex);
		kgb_buf_addf(&text, "\n%zu %zu %s", i, data->storage_bytes[i], hex);
	}
	kgb_sha256_hex(text.ptr, text.len, key);
	return true;
}

/* Rebuild the reference's reply, and check it like one from the process. */
static bool read_reply(const struct kgb_buf *entry, struct kgb_wire_reply *out, const char **bytes)
{
	KGB_AUTO(free) struct kgb_wire_reply *reply = kgb_xcalloc(1, sizeof(*reply));
	struct entry_head head;
	struct kgb_err ignored = KGB_ERR_INIT;

	if (entry->len < sizeof(head))
		return false;
	memcpy(&head, entry->ptr, sizeof(head));
	const size_t n_described = entry->len - sizeof(head);
	if (head.n_outputs > KGB_WIRE_OUTPUTS || head.n_bytes > n_described ||
	    n_described - head.n_bytes != head.n_outputs * sizeof(reply->outputs[0]))
		return false;
	reply->magic = KGB_WIRE_MAGIC;
	reply->version = KGB_WIRE_VERSION;
	reply->n_outputs = (uint32_t)head.n_outputs;
	reply->value = (int64_t)head.n_bytes;
	memcpy(reply->outputs, entry->ptr + sizeof(head), n_described - head.n_bytes);
	*bytes = entry->ptr + entry->len - head.n_bytes;
	return kgb_wire_reply_parse(reply, sizeof(*reply), 0, out, &ignored) == 0;
}

bool kgb_truth_recall(const struct kgb_disk_cache *store, const char *key,
		      struct kgb_case_data *data)
{
	KGB_AUTO(buf) struct kgb_buf entry = KGB_BUF_INIT(0);
	KGB_AUTO(free) struct kgb_wire_reply *reply = kgb_xmalloc(sizeof(*reply));
	struct kgb_err ignored = KGB_ERR_INIT;
	const char *bytes;

	return kgb_disk_cache_get(store, key, &entry) && read_reply(&entry, reply, &bytes) &&
	       kgb_case_data_take(data, reply, bytes, (size_t)reply->value, true, &ignored) == 0;
}

void kgb_truth_keep(const struct kgb_disk_cache *store, const char *key,
		    const struct kgb_wire_reply *reply, const char *out)
{
	KGB_AUTO(buf) struct kgb_buf entry = KGB_BUF_INIT(0);
	const struct entry_head head = {.n_outputs = reply->n_outputs,
					.n_bytes = (uint64_t)reply->value};

	if (head.n_bytes > KGB_TRUTH_CACHE_ENTRY_MAX)
		return;
	kgb_buf_add(&entry, &head, sizeof(head));
	kgb_buf_add(&entry, reply->outputs, reply->n_outputs * sizeof(reply->outputs[0]));
	kgb_buf_add(&entry, out, (size_t)head.n_bytes);
	kgb_disk_cache_put(store, key, entry.ptr, entry.len);
}
