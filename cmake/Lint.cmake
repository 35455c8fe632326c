# SPDX-License-Identifier: MIT
# Targets for the source text: format, format-check, tidy, cppcheck, lint; and the table of coverage.

set(lint_dir ${PROJECT_SOURCE_DIR}/tests/lint)

add_custom_target(format COMMAND ${lint_dir}/format.sh --fix
	WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} USES_TERMINAL COMMENT "Formatting the C sources in place")
add_custom_target(format-check COMMAND ${lint_dir}/format.sh
	WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} USES_TERMINAL COMMENT "Comparing the C sources with .clang-format")
add_custom_target(tidy COMMAND ${lint_dir}/tidy.sh ${PROJECT_BINARY_DIR}
	WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} USES_TERMINAL COMMENT "clang-tidy, one file per process")
add_custom_target(cppcheck COMMAND ${lint_dir}/cppcheck.sh ${PROJECT_BINARY_DIR}
	WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} USES_TERMINAL COMMENT "cppcheck")
add_custom_target(lint COMMAND ${CMAKE_CTEST_COMMAND} --test-dir ${PROJECT_BINARY_DIR} -L "^lint$"
	--output-on-failure --no-tests=error USES_TERMINAL COMMENT "Lints")
if(KGB_COVERAGE)
	add_custom_target(coverage COMMAND gcovr --root ${PROJECT_SOURCE_DIR} --exclude tests/ --sort-percentage
		${PROJECT_BINARY_DIR} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} USES_TERMINAL COMMENT "Coverage table")
endif()
