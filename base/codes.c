/* SPDX-License-Identifier: MIT */
#include "base/codes.h"

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"

static const struct kgb_code_row rows[KGB_N_CODES] = {
#define FINAL false
#define AGAIN true
#define ROW(id, code, leads_to, blamed, again, text)        \
	[KGB_CODE_##id] = {.name = (code),                  \
			   .status = KGB_STATUS_##leads_to, \
			   .blame = KGB_BLAME_##blamed,     \
			   .is_tried_again = (again),       \
			   .sentence = (text)},
	KGB_CODES(ROW)
#undef ROW
#undef AGAIN
#undef FINAL
};

const struct kgb_code_row *kgb_code_row(enum kgb_code code)
{
	KGB_ASSERT((unsigned)code < KGB_N_CODES);
	return &rows[code];
}

const char *kgb_code_name(enum kgb_code code)
{
	return kgb_code_row(code)->name;
}

enum kgb_status kgb_code_status(enum kgb_code code)
{
	return kgb_code_row(code)->status;
}

bool kgb_code_is_among(enum kgb_code code, const enum kgb_code *codes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (codes[i] == code)
			return true;
	return false;
}

enum kgb_code kgb_code_find(const char *name)
{
	for (int code = KGB_CODE_NONE + 1; name && code < KGB_N_CODES; code++)
		if (kgb_str_eq(name, rows[code].name))
			return (enum kgb_code)code;
	return KGB_CODE_NONE;
}

const char *kgb_status_name(enum kgb_status status)
{
	static const char *const names[] = {
		[KGB_STATUS_NONE] = NULL,
		[KGB_STATUS_PASSED] = "passed",
		[KGB_STATUS_FAILED] = "failed",
		[KGB_STATUS_REFUSED] = "refused",
		[KGB_STATUS_CHEATED] = "cheated",
		[KGB_STATUS_TIMEOUT] = "timeout",
		[KGB_STATUS_BUDGET] = "budget",
		[KGB_STATUS_CANCELLED] = "cancelled",
		[KGB_STATUS_INFRA_ERROR] = "infra_error",
	};

	_Static_assert(KGB_ARRAY_LEN(names) == KGB_N_STATUSES, "one name each");
	return names[status];
}

enum kgb_status kgb_status_find(const char *name)
{
	for (int status = KGB_STATUS_NONE + 1; name && status < KGB_N_STATUSES; status++)
		if (kgb_str_eq(name, kgb_status_name((enum kgb_status)status)))
			return (enum kgb_status)status;
	return KGB_STATUS_NONE;
}

bool kgb_status_is_decided(enum kgb_status status)
{
	return status >= KGB_STATUS_PASSED && status <= KGB_STATUS_CHEATED;
}

const char *kgb_blame_name(enum kgb_blame blame)
{
	static const char *const names[] = {
		[KGB_BLAME_NOBODY] = "-",        [KGB_BLAME_KERNEL] = "kernel",
		[KGB_BLAME_AGENT] = "agent",     [KGB_BLAME_PROVIDER] = "provider",
		[KGB_BLAME_MACHINE] = "machine", [KGB_BLAME_USER] = "user",
	};

	return names[blame];
}
