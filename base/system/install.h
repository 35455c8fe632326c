/* SPDX-License-Identifier: MIT */
/** \file
 * Paths of the parts of an installation, found from the running program. No path is compiled in:
 *
 *     installed                         source tree
 *     PREFIX/bin/kgb-agent              build/PRESET/bin/kgb-agent
 *     PREFIX/libexec/kgb-agent/         build/PRESET/bin/            other programs and libraries
 *     PREFIX/share/kgb-agent/           .                            methods, datasets, verify
 *     $XDG_DATA_HOME/kgb-agent or       .deps/                       Python environment, coding
 * CLIs /var/lib/kgb-agent
 */
#ifndef KGB_BASE_SYSTEM_INSTALL_H
#define KGB_BASE_SYSTEM_INSTALL_H

/** The folder of kgb-judge and the other programs that kgb-agent starts, and of their libraries.
 * The caller frees it. */
char *kgb_install_programs(void);
/** The folder that holds methods/, datasets/ and verify/: $KGB_DATA_DIR, else share/kgb-agent or
 * the source tree above the program; "." when there is neither. Absolute, links kept. The caller
 * frees it. */
char *kgb_install_data(void);
/** The folder for the downloads of `kgb-agent setup` or ./bootstrap: $KGB_DEPS_DIR; .deps of a
 * source tree; else the user's data folder, or /var/lib/kgb-agent for root and for users without
 * one. It need not exist. The caller frees it. */
char *kgb_install_deps(void);
/** `below` in that folder ("venv/bin/python"). The caller frees it. */
char *kgb_install_dep(const char *below);
/** `path` below the working directory unless it is absolute. The caller frees it. */
char *kgb_path_absolute(const char *path);

#endif
