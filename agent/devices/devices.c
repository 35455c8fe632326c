/* SPDX-License-Identifier: MIT */
#include "agent/devices/devices.h"

#include <stdio.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/system/fs.h"
#include "verify/process/exec_client.h"

#define CPU "cpu"
#define GPU "cuda"
/* A driver that has to be loaded first takes some seconds. */
#define OPEN_MS 60000

static void add_cpu(struct kgb_devices *out)
{
	out->items[out->n++] = (struct kgb_device){.name = CPU, .number = -1, .own = -1};
}

/** kgb-exec and the trace library are built only with CUDA's headers. */
static bool has_gpu_parts(const char *bin_dir)
{
	KGB_AUTO(free) char *exec = kgb_path_join(bin_dir, "kgb-exec");
	KGB_AUTO(free) char *trace = kgb_path_join(bin_dir, "libkgb_trace.so");
	return access(exec, X_OK) == 0 && access(trace, R_OK) == 0;
}

static int add_gpu(struct kgb_devices *out, int64_t number, struct kgb_err *err)
{
	struct kgb_device device = {.number = (int)number};
	size_t n_gpus = kgb_gpu_count();
	snprintf(device.name, sizeof(device.name), GPU ":%d", device.number);
	for (size_t i = 0; i < out->n; i++)
		if (out->items[i].number == device.number)
			return kgb_fail(err, KGB_ERR_INVALID, "%s is named twice", device.name);
	struct kgb_err hidden = KGB_ERR_INIT;
	if (kgb_gpu_visible(number, &device.own, &hidden) < 0)
		return kgb_fail(err, hidden.kind, "%s: %s: unset it, or use --device cpu",
				device.name, hidden.msg);
	if (n_gpus == 0)
		return kgb_fail(
			err, KGB_ERR_UNAVAILABLE,
			"%s: there is no NVIDIA GPU here (no /dev/nvidia0): load its driver, let the container have it, or use --device cpu",
			device.name);
	if ((size_t)device.own >= n_gpus)
		return kgb_fail(err, KGB_ERR_UNAVAILABLE, "%s: there %s here", device.name,
				n_gpus == 1 ? "is only cuda:0" : "are not so many GPUs");
	out->items[out->n++] = device;
	return 0;
}

/** "0,2", "0,cuda:2" */
static int add_named(struct kgb_devices *out, const char *list, struct kgb_err *err)
{
	KGB_AUTO(strv) struct kgb_strv words = KGB_STRV_INIT;
	kgb_strv_split(&words, list, ',');
	for (size_t i = 0; i < words.n; i++) {
		const char *word = words.items[i];
		int64_t number = 0;
		if (kgb_str_starts(word, GPU ":"))
			word += strlen(GPU ":");
		if (kgb_parse_i64(word, 0, KGB_GPUS_MAX - 1, &number, err) < 0 ||
		    add_gpu(out, number, err) < 0)
			return -1;
	}
	return words.n > 0 ? 0 : kgb_fail(err, KGB_ERR_INVALID, "no GPU is named");
}

static int add_first(struct kgb_devices *out, int64_t wanted, struct kgb_err *err)
{
	if (add_gpu(out, 0, err) < 0)
		return -1;
	for (int64_t i = 1; i < wanted && i < KGB_GPUS_MAX; i++)
		if (add_gpu(out, i, NULL) < 0)
			break;
	return 0;
}

static bool has_usable_gpu(const char *bin_dir)
{
	struct kgb_devices ignored = {0};
	struct kgb_err why = KGB_ERR_INIT;
	return has_gpu_parts(bin_dir) && access("/dev/nvidiactl", R_OK | W_OK) == 0 &&
	       (add_first(&ignored, 1, &why) == 0 || why.kind == KGB_ERR_INVALID);
}

int kgb_devices_find(struct kgb_devices *out, const char *text, int64_t wanted, const char *bin_dir,
		     struct kgb_err *err)
{
	*out = (struct kgb_devices){0};
	if (kgb_str_eq(text, "auto"))
		text = has_usable_gpu(bin_dir) ? GPU : CPU;
	if (kgb_str_eq(text, CPU)) {
		add_cpu(out);
		return 0;
	}
	bool named = kgb_str_starts(text, GPU ":");
	if (!named && !kgb_str_eq(text, GPU))
		return kgb_fail(
			err, KGB_ERR_INVALID,
			"device '%.40s' is none of cpu, auto, cuda, GPUs by number (cuda:0,2)",
			text);
	if ((named ? add_named(out, text, err) : add_first(out, wanted, err)) < 0)
		return kgb_ctx(err, "device");
	if (!has_gpu_parts(bin_dir))
		return kgb_fail(
			err, KGB_ERR_UNAVAILABLE,
			"device %s: kgb-agent was built without CUDA's headers: `./bootstrap setup` fetches them",
			out->items[0].name);
	return 0;
}

const struct kgb_device *kgb_devices_at(const struct kgb_devices *devices, int slot)
{
	return &devices->items[(size_t)slot % devices->n];
}

const char *kgb_devices_platform(const struct kgb_devices *devices)
{
	return devices->items[0].number < 0 ? CPU : GPU;
}

int kgb_device_try(const struct kgb_device *device, struct kgb_exec_machine *out,
		   struct kgb_err *err)
{
	struct kgb_exec_client exec = KGB_EXEC_CLIENT_INIT;
	const struct kgb_exec_spec spec = {.device = (uint32_t)device->own};
	struct kgb_err why = KGB_ERR_INIT;
	if (kgb_exec_client_start(&exec, &spec, OPEN_MS, &why) != KGB_EXEC_DONE)
		return kgb_fail(err, KGB_ERR_UNAVAILABLE, "device %s: %s", device->name, why.msg);
	*out = exec.machine;
	kgb_exec_client_stop(&exec);
	return 0;
}

int kgb_devices_try(struct kgb_devices *devices, struct kgb_err *err)
{
	for (size_t i = 0; i < devices->n; i++) {
		struct kgb_exec_machine machine = {0};
		struct kgb_err why = KGB_ERR_INIT;
		if (devices->items[i].number < 0)
			continue;
		if (kgb_device_try(&devices->items[i], &machine, &why) < 0)
			return kgb_fail(
				err, why.kind,
				"%s (`kgb-agent doctor` lists the checks, --device cpu does without)",
				why.msg);
		if (!devices->target[0])
			snprintf(devices->target, sizeof(devices->target), "%s, sm_%u%u",
				 machine.name, machine.cc_major, machine.cc_minor);
	}
	return 0;
}
