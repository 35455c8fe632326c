/* SPDX-License-Identifier: MIT */
#include "verify/trace/tracer.h"

#include <string.h>

#include "verify/protocol/cpu_image.h"

/* A number below ADDRESS_MIN is no address on Linux (vm.mmap_min_addr); a number from ADDRESS_END
 * on is no address of a GPU. */
#define ADDRESS_MIN UINT64_C(0x10000)
#define ADDRESS_END (UINT64_C(1) << 49)
#define CHECKED_MAX 4096

/* The handle of the image of a kernel whose launches are only recorded: an odd number, which is no
 * handle of the driver, because those are pointers. */
static uint64_t text_handle(uint32_t number)
{
	return (uint64_t)number * 2 + 1;
}

void kgb_tracer_init(struct kgb_tracer *tracer, const struct kgb_cuda *cu)
{
	memset(tracer, 0, sizeof(*tracer));
	tracer->cu = cu;
	kgb_recorder_init(&tracer->recorder, &tracer->images);
	kgb_images_put(&tracer->images, 0, text_handle(0), KGB_CPU_IMAGE_TORCH,
		       strlen(KGB_CPU_IMAGE_TORCH));
}

void kgb_tracer_release(struct kgb_tracer *tracer)
{
	kgb_functions_release(&tracer->functions);
	kgb_recorder_release(&tracer->recorder);
	kgb_images_release(&tracer->images);
	kgb_address_table_release(&tracer->pool);
	kgb_address_table_release(&tracer->foreign);
	kgb_address_table_release(&tracer->globals);
	kgb_address_table_release(&tracer->checked);
}

int kgb_tracer_begin(struct kgb_tracer *tracer, uint32_t number, struct kgb_err *err)
{
	if (kgb_recorder_begin(&tracer->recorder, number, err))
		return -1;
	kgb_recorder_live(&tracer->recorder, &tracer->pool, false);
	kgb_recorder_live(&tracer->recorder, &tracer->foreign, true);
	for (size_t i = 0; i < tracer->n_sticky; i++)
		kgb_recorder_unsupported(&tracer->recorder, 0, tracer->sticky[i]);
	if (tracer->sticky_full)
		kgb_recorder_break(&tracer->recorder, "too many kinds of unsupported calls");
	return 0;
}

void kgb_tracer_stick(struct kgb_tracer *tracer, const char *name)
{
	kgb_recorder_unsupported(&tracer->recorder, 0, name);
	for (size_t i = 0; i < tracer->n_sticky; i++) {
		if (strcmp(tracer->sticky[i], name) == 0)
			return;
	}
	if (tracer->n_sticky == KGB_TRACER_STICKY)
		tracer->sticky_full = true;
	else
		tracer->sticky[tracer->n_sticky++] = name;
}

/* ---- Places of addresses ---- */

static bool in_own_ranges(uint64_t address)
{
	return address - KGB_ARENA_ADDRESS < KGB_ARENA_SPAN ||
	       address - KGB_POOL_ADDRESS < KGB_POOL_BYTES;
}

static enum kgb_address_space ask_place(struct kgb_tracer *tracer, uint64_t address)
{
	CUpointer_attribute which[] = {
		CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
		CU_POINTER_ATTRIBUTE_IS_MANAGED,
		CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
		CU_POINTER_ATTRIBUTE_RANGE_SIZE,
	};
	unsigned type = 0, managed = 0;
	CUdeviceptr start = 0;
	size_t bytes = 0;
	void *values[] = {&type, &managed, &start, &bytes};

	/* Every attribute of an unknown address is 0. */
	if (tracer->cu->cuPointerGetAttributes(KGB_ARRAY_LEN(which), which, values, address) !=
	    CUDA_SUCCESS)
		return KGB_SPACE_UNKNOWN;
	if (managed)
		return KGB_SPACE_MANAGED;
	if (type != CU_MEMORYTYPE_DEVICE)
		return type == CU_MEMORYTYPE_HOST ? KGB_SPACE_HOST : KGB_SPACE_UNKNOWN;
	/* Device memory that was made before this library was loaded, or by an unknown call. */
	if (start && bytes)
		kgb_tracer_block(tracer, start, bytes, true);
	return KGB_SPACE_DEVICE;
}

enum kgb_address_space kgb_tracer_place(struct kgb_tracer *tracer, uint64_t address)
{
	if (in_own_ranges(address) || kgb_address_table_holder(&tracer->foreign, address))
		return KGB_SPACE_DEVICE;
	if (kgb_address_table_holder(&tracer->globals, address))
		return KGB_SPACE_GLOBAL;
	if (address < ADDRESS_MIN || address >= ADDRESS_END)
		return KGB_SPACE_UNKNOWN;
	return ask_place(tracer, address);
}

/* Why a launch with this parameter word cannot be replayed: static text or NULL. */
static const char *word_trouble(struct kgb_tracer *tracer, uint64_t word)
{
	if (word < ADDRESS_MIN || word >= ADDRESS_END ||
	    kgb_address_table_find(&tracer->checked, word))
		return NULL;
	switch (kgb_tracer_place(tracer, word)) {
	case KGB_SPACE_GLOBAL:
		return "module-global";
	case KGB_SPACE_MANAGED:
		return "managed-pointer";
	case KGB_SPACE_HOST:
		return "host-pointer";
	case KGB_SPACE_DEVICE:
		return NULL;
	case KGB_SPACE_UNKNOWN:
		break;
	}
	if (tracer->checked.n >= CHECKED_MAX)
		tracer->checked.n = 0;
	kgb_address_table_put(&tracer->checked, word, 0);
	return NULL;
}

static void check_words(struct kgb_tracer *tracer, uint64_t stream, const unsigned char *bytes,
			size_t len)
{
	for (size_t at = 0; at + 8 <= len; at += 8) {
		const char *why;
		uint64_t word;

		memcpy(&word, bytes + at, sizeof(word));
		why = word_trouble(tracer, word);
		if (why)
			kgb_recorder_unsupported(&tracer->recorder, stream, why);
	}
}

/* ---- Launches ---- */

/* Bytes of a launch attribute's value; the rest of the union holds old bytes of the caller's stack.
 * 0: a replay cannot set the attribute. */
static size_t attribute_bytes(CUlaunchAttributeID id)
{
	const CUlaunchAttributeValue *value = NULL;

	switch ((int)id) {
	case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
		return sizeof(value->accessPolicyWindow);
	case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
	case CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION:
		return sizeof(value->clusterDim);
	case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
		return sizeof(value->memSyncDomainMap);
	case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
	case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
	case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
	case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
	case CU_LAUNCH_ATTRIBUTE_PRIORITY:
	case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
	case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
	case CU_LAUNCH_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING:
		return sizeof(int);
	default:
		return 0;
	}
}

static const char *build_attrs(const struct kgb_launch_request *request, struct kgb_launch *launch)
{
	launch->n_attrs = 0;
	for (unsigned i = 0; i < request->n_attrs; i++) {
		const CUlaunchAttribute *attr = &request->attrs[i];
		const size_t bytes = attribute_bytes(attr->id);
		struct kgb_launch_attr *out;

		if (attr->id == CU_LAUNCH_ATTRIBUTE_IGNORE)
			continue;
		if (bytes == 0)
			return "launch attribute";
		if (launch->n_attrs == KGB_LAUNCH_ATTRS_MAX)
			return "number of launch attributes";
		out = &launch->attrs[launch->n_attrs++];
		*out = (struct kgb_launch_attr){.id = (uint32_t)attr->id};
		memcpy(out->value, &attr->value, bytes);
	}
	return NULL;
}

const char *kgb_tracer_build_launch(struct kgb_tracer *tracer,
				    const struct kgb_launch_request *request, unsigned char *params,
				    struct kgb_op *op)
{
	struct kgb_function *fn = kgb_functions_get(&tracer->functions, tracer->cu, &tracer->images,
						    (uint64_t)(uintptr_t)request->function);
	const struct kgb_image_entry *image = kgb_images_find(&tracer->images, fn->image);

	if (fn->unusable)
		return fn->unusable;
	if (!image)
		return "kernel of an image that is gone";
	if (!image->bytes)
		return image->refused ? image->refused : "image without bytes";
	if (!kgb_function_pack(fn, request->params, request->extra, params))
		return "launch parameters";
	*op = (struct kgb_op){.kind = KGB_OP_LAUNCH};
	op->launch.image = fn->image;
	op->launch.kernel = fn->name;
	memcpy(op->launch.grid, request->grid, sizeof(op->launch.grid));
	memcpy(op->launch.block, request->block, sizeof(op->launch.block));
	op->launch.shared_bytes = request->shared_bytes;
	op->launch.carveout = kgb_function_carveout(fn, tracer->cu);
	op->launch.params = params;
	op->launch.params_bytes = fn->params_bytes;
	return build_attrs(request, &op->launch);
}

void kgb_tracer_emit(struct kgb_tracer *tracer, const struct kgb_op *op)
{
	if (op->kind == KGB_OP_LAUNCH) {
		const struct kgb_image_entry *image =
			kgb_images_find(&tracer->images, op->launch.image);

		if (!image || !image->bytes) {
			kgb_recorder_unsupported(&tracer->recorder, op->stream,
						 "kernel of an image that is gone");
			return;
		}
		check_words(tracer, op->stream, op->launch.params, op->launch.params_bytes);
	}
	kgb_recorder_op(&tracer->recorder, op);
}

void kgb_tracer_launch(struct kgb_tracer *tracer, uint64_t stream,
		       const struct kgb_launch_request *request)
{
	struct kgb_op op;
	const char *why = kgb_tracer_build_launch(tracer, request, tracer->params, &op);

	if (why) {
		kgb_recorder_unsupported(&tracer->recorder, stream, why);
		return;
	}
	op.stream = stream;
	kgb_tracer_emit(tracer, &op);
}

uint32_t kgb_tracer_load_text(struct kgb_tracer *tracer, const void *image, size_t len)
{
	const uint32_t number = ++tracer->n_texts;

	kgb_images_put(&tracer->images, 0, text_handle(number), image, len);
	return number;
}

void kgb_tracer_launch_text(struct kgb_tracer *tracer, uint64_t stream, uint32_t number,
			    const struct kgb_launch *launch)
{
	struct kgb_op op = {.kind = KGB_OP_LAUNCH, .stream = stream, .launch = *launch};

	op.launch.image = kgb_images_of(&tracer->images, text_handle(number));
	op.launch.carveout = -1;
	if (atomic_load(&tracer->captures) != 0)
		kgb_recorder_unsupported(&tracer->recorder, stream,
					 "launch while a stream captures");
	else if (launch->params_bytes > KGB_LAUNCH_PARAMS_MAX)
		kgb_recorder_unsupported(&tracer->recorder, stream, "too many parameters");
	else
		kgb_tracer_emit(tracer, &op);
}

void kgb_tracer_replace(struct kgb_tracer *tracer, uint64_t stream, uint64_t n_replaced,
			const struct kgb_launch *launch)
{
	const struct kgb_op op = {
		.kind = KGB_OP_REPLACES, .stream = stream, .n_replaced = n_replaced};

	kgb_recorder_op(&tracer->recorder, &op);
	kgb_tracer_launch_text(tracer, stream, 0, launch);
}

/* ---- Memory ---- */

/* True when `place` of one side of a copy or memset cannot be replayed; that is recorded. */
static bool refuse_place(struct kgb_tracer *tracer, uint64_t stream, enum kgb_address_space place)
{
	if (place == KGB_SPACE_GLOBAL)
		kgb_recorder_unsupported(&tracer->recorder, stream, "module-global");
	else if (place == KGB_SPACE_MANAGED)
		kgb_recorder_unsupported(&tracer->recorder, stream, "managed-pointer");
	else
		return false;
	return true;
}

void kgb_tracer_copy(struct kgb_tracer *tracer, uint64_t stream, uint64_t dst, uint64_t src,
		     uint64_t bytes, const char *name)
{
	const enum kgb_address_space to = kgb_tracer_place(tracer, dst);
	const enum kgb_address_space from = kgb_tracer_place(tracer, src);
	struct kgb_op op = {.stream = stream};

	if (bytes == 0 || refuse_place(tracer, stream, to) || refuse_place(tracer, stream, from))
		return;
	if (to == KGB_SPACE_DEVICE && from == KGB_SPACE_DEVICE) {
		op.kind = KGB_OP_COPY;
		op.copy.dst = dst;
		op.copy.src = src;
		op.copy.bytes = bytes;
	} else if (to == KGB_SPACE_DEVICE) {
		op.kind = KGB_OP_UPLOAD;
		op.upload.dst = dst;
		op.upload.bytes = bytes;
		op.upload.data = (const unsigned char *)(uintptr_t)src;
	} else if (from == KGB_SPACE_DEVICE) {
		op.kind = KGB_OP_DOWNLOAD;
		op.download.src = src;
		op.download.bytes = bytes;
	} else {
		kgb_recorder_unsupported(&tracer->recorder, stream, name);
		return;
	}
	kgb_recorder_op(&tracer->recorder, &op);
}

void kgb_tracer_memset(struct kgb_tracer *tracer, const struct kgb_op *op, const char *name)
{
	const enum kgb_address_space place = kgb_tracer_place(tracer, op->memset.dst);

	if (op->memset.width == 0 || op->memset.height == 0 ||
	    refuse_place(tracer, op->stream, place))
		return;
	if (place == KGB_SPACE_DEVICE)
		kgb_recorder_op(&tracer->recorder, op);
	else
		kgb_recorder_unsupported(&tracer->recorder, op->stream, name);
}

void kgb_tracer_block(struct kgb_tracer *tracer, uint64_t address, uint64_t bytes, bool foreign)
{
	kgb_address_table_put(foreign ? &tracer->foreign : &tracer->pool, address, bytes);
	kgb_recorder_block(&tracer->recorder, address, bytes, foreign);
}

void kgb_tracer_block_gone(struct kgb_tracer *tracer, uint64_t address, bool foreign)
{
	kgb_address_table_drop(foreign ? &tracer->foreign : &tracer->pool, address);
}
