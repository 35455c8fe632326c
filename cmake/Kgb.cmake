# SPDX-License-Identifier: MIT
# Building blocks of every CMakeLists.txt: flags, one static library per folder, programs, tests, fuzz targets.

include(CheckCCompilerFlag)

# plain_flags: without sanitizers, for what an interpreter without them loads.
add_library(kgb_plain_flags INTERFACE)
add_library(kgb::plain_flags ALIAS kgb_plain_flags)
add_library(kgb_flags INTERFACE)
add_library(kgb::flags ALIAS kgb_flags)
target_link_libraries(kgb_flags INTERFACE kgb_plain_flags)

# One compiler call probes all flags; only when it refuses them, a call for each flag follows.
function(kgb_add_flags_if_supported)
	string(REPLACE ";" " " together "${ARGN}")
	string(MD5 key "${CMAKE_C_COMPILER_ID} ${together}")
	check_c_compiler_flag("${together}" KGB_HAVE_ALL_${key})
	foreach(flag ${ARGN})
		if(NOT KGB_HAVE_ALL_${key})
			string(MAKE_C_IDENTIFIER "KGB_HAVE${flag}" var)
			check_c_compiler_flag(${flag} ${var})
			if(NOT ${var})
				continue()
			endif()
		endif()
		target_compile_options(kgb_plain_flags INTERFACE ${flag})
	endforeach()
endfunction()

kgb_add_flags_if_supported(
	-Wall -Wextra -Wpedantic -Wshadow -Wvla -Wundef -Wwrite-strings -Wcast-qual -Wcast-align=strict
	-Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition -Wconversion -Wsign-conversion -Wformat=2
	-Wformat-signedness -Wformat-overflow=2 -Wnull-dereference -Wdouble-promotion -Walloca -Wswitch-enum
	-Wduplicated-cond -Wduplicated-branches -Wlogical-op -Wunused-macros -Wimplicit-fallthrough
	-Werror=implicit-function-declaration -Werror=incompatible-pointer-types -Werror=int-conversion
	-Werror=return-type -fno-common -fno-strict-aliasing -fno-delete-null-pointer-checks
	-ftrivial-auto-var-init=zero -fstack-protector-strong -fstack-clash-protection -fcf-protection=full)

# clang warns of omitted last columns of a table and of X-macros without further arguments.
if(CMAKE_C_COMPILER_ID MATCHES Clang)
	target_compile_options(kgb_plain_flags INTERFACE -Wno-missing-field-initializers -Wno-gnu-zero-variadic-macro-arguments)
endif()
if(KGB_WERROR)
	target_compile_options(kgb_plain_flags INTERFACE -Werror)
endif()
if(KGB_HARDEN AND NOT KGB_SANITIZE AND NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
	target_compile_options(kgb_plain_flags INTERFACE -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3)
endif()
if(KGB_HARDEN)
	target_link_options(kgb_plain_flags INTERFACE -Wl,-z,relro,-z,now,-z,noexecstack,--as-needed)
endif()
if(KGB_SANITIZE)
	target_compile_options(kgb_flags INTERFACE -fsanitize=${KGB_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
	# Without optimization the sanitizers' checks make programs several times as slow.
	target_compile_options(kgb_flags INTERFACE $<$<CONFIG:Debug>:-O1>)
	target_link_options(kgb_flags INTERFACE -fsanitize=${KGB_SANITIZE})
endif()
if(KGB_FUZZ)
	target_compile_options(kgb_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()
if(KGB_ANALYZER)
	target_compile_options(kgb_plain_flags INTERFACE -fanalyzer)
endif()
if(KGB_COVERAGE)
	target_compile_options(kgb_plain_flags INTERFACE --coverage)
	target_link_options(kgb_plain_flags INTERFACE --coverage)
endif()
# Assertions name files by their path from the root, wherever the tree lies.
target_compile_options(kgb_plain_flags INTERFACE -include ${PROJECT_SOURCE_DIR}/base/banned.h
	-fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=)
target_compile_definitions(kgb_plain_flags INTERFACE
	_GNU_SOURCE KGB_VERSION="${PROJECT_VERSION}")
target_include_directories(kgb_plain_flags INTERFACE ${PROJECT_SOURCE_DIR})

# One static library per folder: kgb_<name>, alias kgb::<name>.
function(kgb_module name)
	cmake_parse_arguments(ARG "" "" "SOURCES;HEADERS;DEPS" ${ARGN})
	add_library(kgb_${name} STATIC ${ARG_SOURCES})
	add_library(kgb::${name} ALIAS kgb_${name})
	target_sources(kgb_${name} PUBLIC FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR} FILES ${ARG_HEADERS})
	target_link_libraries(kgb_${name} PUBLIC ${ARG_DEPS} PRIVATE kgb::flags)
	set_property(GLOBAL APPEND PROPERTY KGB_HEADERS_ALL ${ARG_HEADERS})
endfunction()

# The programs that kgb-agent starts, and their libraries, lie apart from those that people call (base/system/install.h).
set(KGB_PROGRAMS_DIR ${CMAKE_INSTALL_LIBEXECDIR}/kgb-agent)
set(KGB_SHARE_DIR ${CMAKE_INSTALL_DATAROOTDIR}/kgb-agent)

# A program in <build>/bin. USER: people call it, so it is installed in a folder of PATH.
function(kgb_program name)
	cmake_parse_arguments(ARG "STATIC;USER" "" "SOURCES;DEPS" ${ARGN})
	add_executable(${name} ${ARG_SOURCES})
	target_link_libraries(${name} PRIVATE ${ARG_DEPS} kgb::flags)
	set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
	if(ARG_STATIC AND NOT KGB_SANITIZE)
		target_link_options(${name} PRIVATE -static)
		set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
	endif()
	if(ARG_USER)
		install(TARGETS ${name} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
	else()
		install(TARGETS ${name} RUNTIME DESTINATION ${KGB_PROGRAMS_DIR})
	endif()
endfunction()

# cmocka's own signal handler would hide the sanitizer's report; a refused allocation returns NULL, as without a sanitizer.
# 16 MiB of freed memory are enough to find uses after free; the default of 256 MiB costs a third of the time.
set(KGB_TEST_SANITIZERS
	"ASAN_OPTIONS=allow_user_segv_handler=0:detect_leaks=1:allocator_may_return_null=1:quarantine_size_mb=16;UBSAN_OPTIONS=print_stacktrace=1;TSAN_OPTIONS=allocator_may_return_null=1")

# A cmocka program that prints TAP and runs under CTest. COST is the time of a long program in seconds on a busy
# machine; such a program starts earlier and is not in the label quick. The time limit only ends programs that hang.
function(kgb_unit_test name)
	cmake_parse_arguments(ARG "" "COST" "SOURCES;DEPS" ${ARGN})
	set(labels unit)
	if(NOT ARG_COST)
		set(ARG_COST 60)
		list(APPEND labels quick)
	endif()
	if(name IN_LIST KGB_THREADED_TESTS)
		list(APPEND labels threads)
	else()
		list(APPEND ARG_SOURCES ${PROJECT_SOURCE_DIR}/tests/unit/no_threads.c)
	endif()
	add_executable(${name} ${ARG_SOURCES} ${PROJECT_SOURCE_DIR}/tests/unit/one_case.c)
	set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
	target_link_libraries(${name} PRIVATE ${ARG_DEPS} PkgConfig::CMOCKA kgb::flags)
	target_compile_definitions(${name} PRIVATE KGB_TEST_SOURCE_DIR="${PROJECT_SOURCE_DIR}" KGB_TEST_BIN_DIR="${PROJECT_BINARY_DIR}/bin")
	add_test(NAME unit.${name} COMMAND ${name})
	set_tests_properties(unit.${name} PROPERTIES LABELS "${labels}" TIMEOUT 1200 COST ${ARG_COST}
		ENVIRONMENT "CMOCKA_MESSAGE_OUTPUT=TAP;${KGB_TEST_SANITIZERS};LC_ALL=C;TZ=UTC")
endfunction()

# A unit test in Python, with COST as above; further arguments are the script's. It exits with 77 when a package that it needs
# is missing.
function(kgb_python_test name script)
	cmake_parse_arguments(ARG "" "COST" "" ${ARGN})
	set(labels unit python)
	if(NOT ARG_COST)
		set(ARG_COST 60)
		list(APPEND labels quick)
	endif()
	add_test(NAME unit.${name} COMMAND ${Python3_EXECUTABLE} -I ${script} ${ARG_UNPARSED_ARGUMENTS})
	set_tests_properties(unit.${name} PROPERTIES LABELS "${labels}" TIMEOUT 1200 COST ${ARG_COST} SKIP_RETURN_CODE 77)
endfunction()

# For a test whose Python loads a sanitized library: the interpreter is not sanitized, so the runtime must come before it;
# its own leaks do not count.
function(kgb_preload_asan test)
	execute_process(COMMAND ${CMAKE_C_COMPILER} -print-file-name=libasan.so OUTPUT_VARIABLE asan_runtime OUTPUT_STRIP_TRAILING_WHITESPACE)
	set_tests_properties(${test} PROPERTIES ENVIRONMENT "LD_PRELOAD=${asan_runtime};ASAN_OPTIONS=detect_leaks=0")
endfunction()

# A libFuzzer target (KGB_FUZZ), or a replay of its corpus as a test (every other build).
function(kgb_fuzz_target name)
	cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
	set(corpus ${PROJECT_SOURCE_DIR}/tests/fuzz/corpus/${name})
	if(KGB_FUZZ)
		add_executable(fuzz_${name} ${ARG_SOURCES})
		target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
	else()
		add_executable(fuzz_${name} ${ARG_SOURCES} ${PROJECT_SOURCE_DIR}/tests/fuzz/replay_main.c)
		add_test(NAME fuzz.${name} COMMAND fuzz_${name} ${corpus})
		set_tests_properties(fuzz.${name} PROPERTIES LABELS "fuzz;quick" TIMEOUT 600)
	endif()
	set_target_properties(fuzz_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/fuzz)
	target_link_libraries(fuzz_${name} PRIVATE ${ARG_DEPS} kgb::flags)
	set_property(GLOBAL APPEND PROPERTY KGB_FUZZ_TARGETS ${name})
endfunction()

# Compiles sources of the calling folder so that their loops over arrays become vector instructions.
function(kgb_vector_sources)
	set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS
		"-ffp-contract=off;-fno-math-errno;-fno-trapping-math;$<IF:$<CONFIG:Debug>,-O2,-O3>")
endfunction()
