/* SPDX-License-Identifier: MIT */
/** \file
 * kgb-judge: verifies one kernel, or keeps warm processes for those that do.
 */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/log.h"
#include "base/str.h"
#include "verify/cmd/cli.h"
#include "verify/protocol/judge_request.h"

static const char usage[] =
	"usage: kgb-judge verify <REQUEST >VERDICT\n"
	"       kgb-judge zygotes --dir DIR [--spares N] [--python PATH] [--device NAME] [--cupti FILE]\n"
	"                         [--die-with-parent PID]\n"
	"       kgb-judge lint --dataset NAME [options] [OPERATOR]...\n"
	"       kgb-judge --help | --version\n"
	"\n"
	"verify checks a kernel file. The request is one JSON object with these keys (defaults in brackets); spec and kernel\n"
	"must be there:\n";
static const char usage_of_others[] =
	"\n"
	"zygotes prints 'ready' and serves until its stdin closes. --spares N: workers of each kind that are made\n"
	"before they are needed (default: 4 on a GPU, else 1).\n"
	"\n"
	"lint looks whether the specs of a dataset, or those named, are good, on the CPU unless --device says otherwise. The\n"
	"reference is asked for every case: it must be a function of all its arguments and of nothing else, its own answers\n"
	"must be right by the tolerance, and zeros, constants, inputs, what was there before, answers of other inputs,\n"
	"half the precision, missing elements and what other functions give must not be. Schemas must agree with torch's.\n"
	"  --json              one line of JSON for each operator, as they come\n"
	"  --jobs N            so many at a time (default: one for each processor, on a GPU 4)\n"
	"  --time              time what kernels are measured against on every benchmark\n"
	"  --dataset-dir DIR   directory that holds datasets/ (default: $KGB_DATA_DIR)\n"
	"  --seed HEX          32 digits: make the same inputs again (default: zeros)\n"
	"  --device NAME       cpu, cuda, cuda:N or auto (default: cpu)\n"
	"  --python PATH       interpreter with torch and triton (default: $KGB_PYTHON, else what setup installed)\n"
	"  --die-with-parent PID\n"
	"                      end when the parent process, which has this number, ends\n"
	"  --no-cache          look again at what was found good on the CPU and has not changed since\n"
	"Exit status of lint: 0 all is well, 1 not.\n"
	"\n"
	"Exit status of verify: 0 verdict written (whatever it says), 2 usage, 4 environment, 70 internal error.\n";

static void print_usage(FILE *out)
{
	KGB_AUTO(buf) struct kgb_buf keys = KGB_BUF_INIT(0);

	kgb_judge_request_describe(&keys);
	fprintf(out, "%s%s%s", usage, keys.ptr, usage_of_others);
}

int main(int argc, char **argv)
{
	kgb_log_init("kgb-judge", KGB_LOG_INFO);
	/* Close inherited descriptors in our children. */
	(void)close_range(4, ~0U, CLOSE_RANGE_CLOEXEC);
	(void)fcntl(3, F_SETFD, FD_CLOEXEC);
	if (argc >= 2 && kgb_str_eq(argv[1], "verify"))
		return kgb_cmd_verify(argc - 1, argv + 1);
	if (argc >= 2 && kgb_str_eq(argv[1], "zygotes"))
		return kgb_cmd_zygotes(argc - 1, argv + 1);
	if (argc >= 2 && kgb_str_eq(argv[1], "lint"))
		return kgb_cmd_lint(argc - 1, argv + 1);
	if (argc == 2 && kgb_str_eq(argv[1], "--version")) {
		printf("kgb-judge %s\n", KGB_VERSION);
		return KGB_EXIT_OK;
	}
	bool asked = argc == 2 && kgb_str_eq(argv[1], "--help");
	print_usage(asked ? stdout : stderr);
	return asked ? KGB_EXIT_OK : KGB_EXIT_USAGE;
}
