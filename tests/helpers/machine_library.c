/* SPDX-License-Identifier: MIT */
/** \file
 * Makes the linker put the machine's functions into the library that tests in Python load.
 */
#include "verify/machine/machine.h"

extern void (*const kgb_machine_library[])(void);
void (*const kgb_machine_library[])(void) = {
	(void (*)(void))kgb_machine_program_parse,
	(void (*)(void))kgb_machine_run,
};
