# SPDX-License-Identifier: MIT
# `cpack --config build/release/CPackConfig.cmake` writes kgb-agent_VERSION_ARCH.deb.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME kgb-agent)
set(CPACK_PACKAGE_CONTACT "kgb-agent developers <kgb-agent@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# Programs that kgb-agent starts, and packages that `kgb-agent setup` needs; SHLIBDEPS finds the libraries.
set(CPACK_DEBIAN_PACKAGE_DEPENDS "bubblewrap (>= 0.8), ca-certificates, python3 (>= 3.10), libuv1 (>= 1.44)")
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "python3-venv, npm, git, gcc, libc6-dev, python3-dev")
include(CPack)
