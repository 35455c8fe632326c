/* SPDX-License-Identifier: MIT */
#include "verify/ttir/ttir_type.h"

#include "base/buf.h"
#include "base/mem.h"

static const struct {
	const char *name; /* in the text */
	size_t size;
	bool is_integer, is_float, is_narrow;
} elements[] = {
	[KGB_TTIR_NONE] = {"none", 0, false, false, false},
	[KGB_TTIR_I1] = {"i1", 1, true, false, false},
	[KGB_TTIR_I8] = {"i8", 1, true, false, false},
	[KGB_TTIR_I16] = {"i16", 2, true, false, false},
	[KGB_TTIR_I32] = {"i32", 4, true, false, false},
	[KGB_TTIR_I64] = {"i64", 8, true, false, false},
	[KGB_TTIR_F8E4M3] = {"f8E4M3FN", 1, false, true, true},
	[KGB_TTIR_F8E5M2] = {"f8E5M2", 1, false, true, true},
	[KGB_TTIR_BF16] = {"bf16", 2, false, true, true},
	[KGB_TTIR_F16] = {"f16", 2, false, true, true},
	[KGB_TTIR_F32] = {"f32", 4, false, true, false},
	[KGB_TTIR_F64] = {"f64", 8, false, true, false},
	[KGB_TTIR_POINTER] = {"pointer", 8, false, false, false},
	[KGB_TTIR_DESCRIPTOR] = {"descriptor", 0, false, false, false},
};
_Static_assert(KGB_ARRAY_LEN(elements) == KGB_N_TTIR_ELEMENTS, "one row per element");

const char *kgb_ttir_element_name(enum kgb_ttir_element element)
{
	return elements[element].name;
}

enum kgb_ttir_element kgb_ttir_element_find(const char *name, size_t len)
{
	for (int i = KGB_TTIR_I1; i <= KGB_TTIR_F64; i++)
		if (strlen(elements[i].name) == len && memcmp(elements[i].name, name, len) == 0)
			return (enum kgb_ttir_element)i;
	return len == 5 && memcmp(name, "index", 5) == 0 ? KGB_TTIR_I64 : KGB_TTIR_NONE;
}

size_t kgb_ttir_element_size(enum kgb_ttir_element element)
{
	return elements[element].size;
}

bool kgb_ttir_is_integer(enum kgb_ttir_element element)
{
	return elements[element].is_integer;
}

bool kgb_ttir_is_float(enum kgb_ttir_element element)
{
	return elements[element].is_float;
}

bool kgb_ttir_is_narrow(enum kgb_ttir_element element)
{
	return elements[element].is_narrow;
}

size_t kgb_ttir_pointee_size(const struct kgb_ttir_type *type)
{
	return type->element == KGB_TTIR_POINTER && type->depth > 1 ? 8
								    : elements[type->pointee].size;
}

size_t kgb_ttir_lanes(const struct kgb_ttir_type *type)
{
	size_t n = 1;

	if (type->element != KGB_TTIR_DESCRIPTOR)
		for (int i = 0; i < type->rank; i++)
			n *= (size_t)type->shape[i];
	return n;
}

bool kgb_ttir_same_shape(const struct kgb_ttir_type *a, const struct kgb_ttir_type *b)
{
	return a->rank == b->rank && memcmp(a->shape, b->shape, a->rank * sizeof(*a->shape)) == 0;
}

bool kgb_ttir_same_type(const struct kgb_ttir_type *a, const struct kgb_ttir_type *b)
{
	return a->element == b->element && a->pointee == b->pointee && a->depth == b->depth &&
	       kgb_ttir_same_shape(a, b);
}

struct kgb_ttir_type kgb_ttir_with_element(const struct kgb_ttir_type *type,
					   enum kgb_ttir_element element)
{
	struct kgb_ttir_type out = *type;

	out.element = (uint8_t)element;
	out.pointee = out.depth = 0;
	return out;
}

const char *kgb_ttir_type_name(const struct kgb_ttir_type *type, char out[KGB_TTIR_TYPE_NAME_LEN])
{
	KGB_AUTO(buf) struct kgb_buf buf = KGB_BUF_INIT(KGB_TTIR_TYPE_NAME_LEN - 1);
	bool is_block = type->rank > 0 && type->element != KGB_TTIR_DESCRIPTOR;

	if (is_block)
		kgb_buf_adds(&buf, "tensor<");
	if (type->element == KGB_TTIR_DESCRIPTOR)
		kgb_buf_adds(&buf, "!tt.tensordesc<");
	for (int i = 0; i < type->rank; i++)
		kgb_buf_addf(&buf, "%dx", (int)type->shape[i]);
	if (type->element == KGB_TTIR_POINTER)
		kgb_buf_addf(&buf, "!tt.ptr<%s%s>", type->depth > 1 ? "!tt.ptr<" : "",
			     elements[type->pointee].name);
	else if (type->element == KGB_TTIR_DESCRIPTOR)
		kgb_buf_addf(&buf, "%s>", elements[type->pointee].name);
	else
		kgb_buf_adds(&buf, elements[type->element].name);
	if (is_block)
		kgb_buf_addc(&buf, '>');
	memcpy(out, buf.ptr, buf.len + 1);
	return out;
}
