/* SPDX-License-Identifier: MIT */
/** \file
 * Runs one command against a gateway on 127.0.0.1 and prints what the meter counted: the gateway
 * and a real CLI without the rest of the program.
 *
 *     gateway_driver DATA_DIR SAFE_NAME verify|oneshot TRAFFIC_DIR COMMAND [ARG...]
 *     gateway_driver - - live TRAFFIC_DIR COMMAND [ARG...]
 *
 * The first form is offline and has a stand-in for the judge that passes exactly the script's
 * kernel "fixed". The second relays to $ANTHROPIC_BASE_URL with the key $ANTHROPIC_API_KEY, so it
 * can stand inside the first. The command gets ANTHROPIC_BASE_URL and ANTHROPIC_API_KEY of its
 * gateway (offline also KGB_GATEWAY and KGB_TOKEN) besides its environment, and inherits stdin,
 * stdout and stderr. At the end one JSON object is written to TRAFFIC_DIR.json:
 * {"status":N,"verify":N,"exchanges":N,"errors":N,"probes":N,"models":{NAME:{...}}}.
 */
#include <fcntl.h>
#include <unistd.h>
#include <uv.h>

#include "base/formats/jsonw.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/system/fs.h"
#include "sandbox/gateway/gateway.h"
#include "sandbox/offline/offline.h"
#include "tests/helpers/loopback.h"

struct driver {
	uv_loop_t loop;
	struct kgb_gateway *gw;
	struct kgb_session *session;
	struct kgb_offline_session *script; /* NULL: live */
	const char *traffic_dir;
	struct kgb_strv env;
	uv_process_t child;
	int64_t status;
};

static void on_verify(void *payload, struct kgb_verify_request *req, const char *kernel, size_t len)
{
	const struct driver *driver = payload;
	const char *fixed = kgb_offline_kernel(driver->script, "fixed");
	size_t fixed_len = fixed ? strlen(fixed) : 0;
	if (fixed && len == fixed_len + 1 && memcmp(fixed, kernel, fixed_len) == 0)
		kgb_verify_reply(req, 200, "PASSED 8 of 8 tests\n");
	else
		kgb_verify_reply(
			req, 200,
			"FAIL verify.mismatch: 3 of 8 tests failed\n"
			"case: add_Tensor/float32/n=1000/standard: index [0]: expected 1.5, got nan\n");
}

static void on_probe(void *payload, const char *what, const char *method, const char *path)
{
	(void)payload;
	fprintf(stderr, "probe: %s: %s %s\n", what, method, path);
}

static void print_totals(const struct driver *driver, const struct kgb_totals *totals)
{
	KGB_AUTO(buf) struct kgb_buf line = KGB_BUF_INIT(0);
	struct kgb_jsonw w;
	kgb_jsonw_init(&w, &line, 0);
	kgb_jsonw_object(&w);
	kgb_jsonw_ki64(&w, "status", driver->status);
	kgb_jsonw_ki64(&w, "verify", totals->n_verify);
	kgb_jsonw_ki64(&w, "exchanges", totals->n_exchanges);
	kgb_jsonw_ki64(&w, "errors", totals->n_errors);
	kgb_jsonw_ki64(&w, "probes", totals->n_probes);
	kgb_jsonw_key(&w, "models");
	kgb_jsonw_object(&w);
	for (size_t i = 0; i < totals->n_models; i++) {
		kgb_jsonw_key(&w, totals->models[i].name);
		kgb_jsonw_object(&w);
		kgb_jsonw_ki64(&w, "inputTokens", totals->models[i].usage.input);
		kgb_jsonw_ki64(&w, "outputTokens", totals->models[i].usage.output);
		kgb_jsonw_ki64(&w, "cacheReadInputTokens", totals->models[i].usage.cache_read);
		kgb_jsonw_ki64(&w, "cacheCreationInputTokens",
			       totals->models[i].usage.cache_creation);
		kgb_jsonw_object_end(&w);
	}
	kgb_jsonw_object_end(&w);
	kgb_jsonw_object_end(&w);
	kgb_buf_addc(&line, '\n');
	KGB_AUTO(free) char *path = kgb_xasprintf("%s.json", driver->traffic_dir);
	struct kgb_err err = KGB_ERR_INIT;
	if (kgb_fs_write_atomic(AT_FDCWD, path, line.ptr, line.len, 0644, false, &err) < 0)
		fprintf(stderr, "gateway_driver: %s\n", err.msg);
}

static void on_session_closed(void *payload, const struct kgb_totals *totals)
{
	struct driver *driver = payload;
	print_totals(driver, totals);
	kgb_gateway_close(driver->gw, NULL, NULL);
}

static void on_child_exit(uv_process_t *child, int64_t status, int signal)
{
	struct driver *driver = child->data;
	driver->status = signal ? 128 + signal : status;
	uv_close((uv_handle_t *)child, NULL);
	kgb_session_close(driver->session, on_session_closed, driver);
}

static int spawn(struct driver *driver, char **argv)
{
	uv_stdio_container_t stdio[3];
	for (int i = 0; i < 3; i++)
		stdio[i] = (uv_stdio_container_t){.flags = UV_INHERIT_FD, .data.fd = i};
	uv_process_options_t options = {.file = argv[0],
					.args = argv,
					.env = driver->env.items,
					.exit_cb = on_child_exit,
					.stdio = stdio,
					.stdio_count = 3};
	driver->child.data = driver;
	int rc = uv_spawn(&driver->loop, &driver->child, &options);
	if (rc < 0) {
		fprintf(stderr, "gateway_driver: %s: %s\n", argv[0], uv_strerror(rc));
		driver->status = 127;
		uv_close((uv_handle_t *)&driver->child, NULL);
		kgb_session_close(driver->session, on_session_closed, driver);
	}
	return rc;
}

/* The command's environment: ours, with this driver's gateway in the place of what was inherited.
 */
static void set_environment(struct driver *driver, const char *url, const char *token)
{
	static const char *const live[] = {"ANTHROPIC_BASE_URL=", "ANTHROPIC_API_KEY=", NULL};
	static const char *const offline[] = {
		"ANTHROPIC_BASE_URL=", "ANTHROPIC_API_KEY=", "KGB_GATEWAY=", "KGB_TOKEN=", NULL};
	const char *const *ours = driver->script ? offline : live;
	for (char **variable = environ; *variable; variable++) {
		bool replaced = false;
		for (size_t i = 0; ours[i]; i++)
			replaced = replaced || kgb_str_starts(*variable, ours[i]);
		if (!replaced)
			kgb_strv_add(&driver->env, *variable);
	}
	for (size_t i = 0; ours[i]; i++)
		kgb_strv_addf(&driver->env, "%s%s", ours[i], i % 2 ? token : url);
}

static int start(struct driver *driver, struct kgb_err *err)
{
	uint16_t port;
	int fd;
	unsigned char random[16];
	char token[2 * sizeof(random) + 1];
	char url[64];
	kgb_random(random, sizeof(random));
	kgb_hex(random, sizeof(random), token);
	struct kgb_gateway_spec gateway = {
		.mode = driver->script ? KGB_GATEWAY_OFFLINE : KGB_GATEWAY_LIVE,
		.accounts.by_provider =
			{[KGB_PROVIDER_ANTHROPIC] = {.url = getenv("ANTHROPIC_BASE_URL"),
						     .api_key = getenv("ANTHROPIC_API_KEY")}},
	};
	if (listen_loopback(0, &fd, &port, err) < 0 ||
	    kgb_gateway_new(&driver->gw, &driver->loop, &gateway, err) < 0)
		return -1;
	snprintf(url, sizeof(url), "http://127.0.0.1:%u", (unsigned)port);
	set_environment(driver, url, token);
	struct kgb_session_spec spec = {
		.take_listen_fd = fd,
		.token = token,
		.traffic_dir = driver->traffic_dir,
		.offline = driver->script,
		.callbacks = {.on_verify = driver->script ? on_verify : NULL, .on_probe = on_probe},
		.payload = driver,
	};
	return kgb_session_open(&driver->session, driver->gw, &spec, err);
}

static int load(struct driver *driver, char **argv, struct kgb_err *err)
{
	driver->traffic_dir = argv[4];
	if (strcmp(argv[3], "live") == 0)
		return 0;
	enum kgb_offline_variant variant =
		strcmp(argv[3], "oneshot") == 0 ? KGB_OFFLINE_ONESHOT : KGB_OFFLINE_VERIFY;
	const struct kgb_offline_subject subject = {.data_dir = argv[1], .safe_name = argv[2]};
	return kgb_offline_load(&driver->script, &subject, variant, err);
}

int main(int argc, char **argv)
{
	struct driver driver = {0};
	struct kgb_err err = KGB_ERR_INIT;
	if (argc < 6) {
		fprintf(stderr,
			"usage: gateway_driver DATA_DIR SAFE_NAME verify|oneshot|live TRAFFIC_DIR COMMAND "
			"[ARG...]\n");
		return 2;
	}
	uv_loop_init(&driver.loop);
	if (load(&driver, argv, &err) < 0 || start(&driver, &err) < 0) {
		fprintf(stderr, "gateway_driver: %s\n", err.msg);
		return 2;
	}
	(void)spawn(&driver, argv + 5);
	uv_run(&driver.loop, UV_RUN_DEFAULT);
	kgb_offline_free(driver.script);
	kgb_strv_release(&driver.env);
	if (uv_loop_close(&driver.loop) != 0) {
		fprintf(stderr, "gateway_driver: the loop did not close\n");
		return 70;
	}
	return driver.status == 0 ? 0 : 1;
}
