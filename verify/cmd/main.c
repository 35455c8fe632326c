/* SPDX-License-Identifier: MIT */
/** \file
 * kgb-judge: verifies one kernel, keeps warm processes for verifications, or lints specs.
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
	"lint checks the specs of all operators of a dataset, or of the named ones, on the CPU or on the --device. It runs\n"
	"the reference on every case. The reference must be a function of all its arguments and of nothing else. The\n"
	"tolerance must accept the reference's results, and refuse zeros, constants, inputs, unchanged memory, results for\n"
	"other inputs, half the precision, missing elements and results of other functions. Schemas must agree with torch's.\n"
	"  --json              one line of JSON for each operator when it is done\n"
	"  --jobs N            number of operators at a time (default: one for each processor, on a GPU 4)\n"
	"  --time              time the baseline on every benchmark\n"
	"  --dataset-dir DIR   directory that holds datasets/ (default: $KGB_DATA_DIR)\n"
	"  --seed HEX          32 digits: make the same inputs again (default: zeros)\n"
	"  --device NAME       cpu, cuda, cuda:N or auto (default: cpu)\n"
	"  --python PATH       interpreter with torch and triton (default: $KGB_PYTHON, else what setup installed)\n"
	"  --die-with-parent PID\n"
	"                      end when the parent process, which has this number, ends\n"
	"  --no-cache          lint again operators that were found good on the CPU and have not changed since\n"
	"Exit status of lint: 0 no faults, 1 faults.\n"
	"\n"
	"Exit status of verify: 0 verdict written (good or bad), 2 usage, 4 environment, 70 internal error.\n";

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
