# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154 # the caller sets root and deps
#
# Fetches the parts that kgb-agent needs besides Debian packages: the Python environment with torch and triton, headers of CUDA,
# and coding CLIs. The files beside this one pin their versions. ./bootstrap and the installed kgb-setup source this file.
#
# Needs $root (holds deps/ and methods/data/) and $deps (the target: venv/, cli/, stamp/, log/).

me=${0##*/}
missing=()  # parts that could not be fetched; setup goes on without them
done_now=() # steps that ran

say() { printf '%s: %s\n' "$me" "$*" >&2; }

die() {
	local status=$1
	shift
	say "$@"
	exit "$status"
}

now_ms() { printf '%s' $((${EPOCHREALTIME/[.,]/} / 1000)); }

seconds_since() {
	local ms=$(($(now_ms) - $1))
	printf '%d.%d s' $((ms / 1000)) $((ms % 1000 / 100))
}

# step NAME WHAT COMMAND...: runs COMMAND with its output in .deps/log/NAME.log; on failure prints the end of that file.
# `set -e` is off inside COMMAND, because bash calls it in a condition, so functions given here chain with &&.
step() {
	local name=$1 what=$2 log=$deps/log/$1.log start status=0
	shift 2
	start=$(now_ms)
	done_now+=("$name")
	say "$name: $what"
	"$@" >"$log" 2>&1 </dev/null || status=$?
	if ((status == 0)); then
		say "$name: done in $(seconds_since "$start")"
		return 0
	fi
	tail -n 25 "$log" | sed 's/^/    /' >&2
	say "$name: failed after $(seconds_since "$start"), whole output in ${log#"$root"/}"
	return "$status"
}

hash_of() { cat "$@" | sha256sum | cut -d' ' -f1; }
# A stamp matches when it begins with the wanted text; the rest is a note.
stamp_is() { [[ -f $deps/stamp/$1 && "$(<"$deps/stamp/$1") " == "$2 "* ]]; }
# A step writes its stamp last and atomically, so an interrupted step leaves no stamp and starts afresh next time.
stamp_put() {
	printf '%s\n' "$2" >"$deps/stamp/$1.new"
	mv "$deps/stamp/$1.new" "$deps/stamp/$1"
}

# ---- Python ----

python_fits() {
	"$1" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))' >/dev/null 2>&1
}

# Chooses the system's interpreter first: the pins are tested with it, and a sandbox that shows /usr shows it.
# Otherwise chooses the newest on PATH.
python_choose() {
	local name
	for name in ${KGB_BOOTSTRAP_PYTHON:+"$KGB_BOOTSTRAP_PYTHON"} /usr/bin/python3 \
		python3.{14,13,12,11,10} python3; do
		name=$(type -P "$name") && python_fits "$name" && printf '%s' "$name" && return 0
		[[ -n ${KGB_BOOTSTRAP_PYTHON:-} ]] && return 1
	done
	return 1
}

has_gpu() { compgen -G '/dev/nvidia[0-9]*' >/dev/null || [[ -e /dev/kfd ]]; }

# Builds the environment beside its final place and moves it when it is whole, so that no process finds half of it.
python_install() {
	local python=$1 new=$deps/venv.new pip
	pip=("$new/bin/python" -m pip --disable-pip-version-check install --no-input --retries 2
		--progress-bar off --only-binary ':all:')
	rm -rf "$new" &&
		"$python" -m venv "$new" &&
		grep -v '^triton==' "$root/deps/python.txt" >"$new/pins.txt" &&
		grep '^triton==' "$root/deps/python.txt" >"$new/triton.txt" &&
		python_install_torch "$new" "${pip[@]}" &&
		"${pip[@]}" --no-deps -r "$new/triton.txt" &&
		"$new/bin/python" -c 'import numpy, torch, triton
print("numpy", numpy.__version__, "torch", torch.__version__, "triton", triton.__version__)
print("cuda" if torch.version.cuda else "hip" if torch.version.hip else "cpu")' >"$new/versions.txt" &&
		grep -rlI --exclude-dir=lib "$new" "$new" | xargs -r sed -i "s|$new|$deps/venv|g" &&
		rm -rf "$deps/venv" &&
		mv "$new" "$deps/venv"
}

# Only a local version label requests a CPU build by name. Where pip's sources have no CPU build, the plain
# version is installed.
python_install_torch() {
	local new=$1
	shift
	if ! has_gpu; then
		sed 's/^\(torch==[0-9.]*\)$/\1+cpu/' "$new/pins.txt" >"$new/pins-cpu.txt"
		"$@" -r "$new/pins-cpu.txt" && return 0
	fi
	"$@" -r "$new/pins.txt"
}

need_python() {
	local python key
	if ! python=$(python_choose); then
		say "python: no interpreter from 3.10 with the venv module${KGB_BOOTSTRAP_PYTHON:+ at $KGB_BOOTSTRAP_PYTHON}"
		missing+=(python)
		return 0
	fi
	# The environment stays while the pins stay, unless KGB_BOOTSTRAP_PYTHON names another interpreter.
	key=$(hash_of "$root/deps/python.txt")
	stamp_is python "$key${KGB_BOOTSTRAP_PYTHON:+ $python}" && [[ -x $deps/venv/bin/python ]] && return 0
	rm -f "$deps/stamp/python"
	if ! step python "installing deps/python.txt with $python ($("$python" -V))" python_install "$python"; then
		missing+=(python)
		return 0
	fi
	stamp_put python "$key $python"
	say "python: $(head -n 1 "$deps/venv/versions.txt")"
	if ! has_gpu && grep -qx -e cuda -e hip "$deps/venv/versions.txt"; then
		say "python: torch came as a GPU build though this machine has no GPU, because pip's sources hold no"
		say "python: CPU build. It works. For the smaller CPU build, point pip at a source of CPU builds"
		say "python: (PIP_FIND_LINKS or PIP_EXTRA_INDEX_URL), remove .deps/venv and run this command again."
	fi
}

# ---- CUDA headers ----

# headers_install PYTHON NAME HEADER...: unpacks the include folders of the wheels in deps/NAME-headers.txt to
# .deps/NAME/include and checks that they hold each HEADER. Runs nothing from the wheels.
headers_install() {
	local python=$1 name=$2 new=$deps/$2.new
	shift 2
	rm -rf "$new" &&
		mkdir -p "$new/include" &&
		"$python" -m pip --disable-pip-version-check download --no-input --retries 2 --progress-bar off --no-deps \
			--only-binary ':all:' -d "$new/wheels" -r "$root/deps/$name-headers.txt" &&
		"$python" -c 'import pathlib, sys, zipfile
wheels, to, *wanted = sys.argv[1:]
to = pathlib.Path(to)
for wheel in sorted(pathlib.Path(wheels).glob("*.whl")):
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            parts = pathlib.PurePosixPath(name).parts
            if "include" not in parts or ".." in parts or name.endswith("/"):
                continue
            path = to.joinpath(*parts[parts.index("include") + 1:])
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(archive.read(name))
missing = [name for name in wanted if not (to / name).is_file()]
sys.exit("not in the wheels: " + " ".join(missing) if missing else 0)' "$new/wheels" "$new/include" "$@" &&
		rm -rf "$new/wheels" "${deps:?}/$name" &&
		mv "$new" "$deps/$name"
}

need_headers() {
	local python=$deps/venv/bin/python name=$1 key
	key=$(hash_of "$root/deps/$name-headers.txt")
	stamp_is "$name" "$key" && [[ -d $deps/$name/include ]] && return 0
	rm -f "$deps/stamp/$name"
	if [[ -x $python ]] && step "$name" "unpacking deps/$name-headers.txt" headers_install "$python" "$@"; then
		stamp_put "$name" "$key"
	else
		missing+=("$name")
	fi
}

need_cuda_headers() {
	need_headers cuda cuda.h cupti.h crt/host_defines.h
	# A torch for CUDA brings these headers in its wheel of 400 MB.
	compgen -G "$deps/venv/lib/python3*/site-packages/nvidia/cu13/include/cublas_v2.h" >/dev/null ||
		need_headers cublas cublas_v2.h cublas_api.h
}

# ---- The page of reports ----

npm_install() {
	npm ci --ignore-scripts --no-audit --no-fund --fetch-retries 2 --fetch-retry-mintimeout 1000 --fetch-retry-maxtimeout 5000
}

# Keeps the two files that a page contains, and the licences of all that went into them. Runs nothing of the packages.
page_install() {
	local new=$deps/page.new modules=$deps/page.new/node_modules
	rm -rf "$new" &&
		mkdir -p "$new" &&
		cp "$root/deps/page/package.json" "$root/deps/page/package-lock.json" "$new/" &&
		(cd "$new" && npm_install) &&
		cp "$modules/d3/dist/d3.min.js" "$modules/@observablehq/plot/dist/plot.umd.min.js" "$new/" &&
		(cd "$modules" && find . -maxdepth 3 -name 'LICENSE*' | sort | xargs tail -n +1) >"$new/LICENSES" &&
		rm -rf "$modules" "${deps:?}/page" &&
		mv "$new" "$deps/page"
}

need_page() {
	local key
	key=$(hash_of "$root/deps/page/package.json" "$root/deps/page/package-lock.json")
	stamp_is page "$key" && [[ -f $deps/page/LICENSES ]] && return 0
	rm -f "$deps/stamp/page"
	if step page "installing deps/page/package.json" page_install; then
		stamp_put page "$key"
	else
		missing+=(page)
	fi
}

# ---- Coding CLIs ----

# Each CLI has a folder with its pinned version in deps/cli, and a description in methods/data/program.
cli_names() { (cd "$root/deps/cli" && printf '%s\n' */) | tr -d /; }

# The path of a CLI's executable below its folder; empty when there is none for this machine.
cli_binary() { sed -n "s/^  $(uname -m): *//p" "$root/methods/data/program/$1.yaml"; }

# The CLI that a method drives; empty for an unknown method, and for a method whose program is not fetched here.
cli_of_method() {
	local cli
	cli=$(sed -n 's/^cli: *//p' "$root/methods/data/${1//\//}/method.yaml" 2>/dev/null || true)
	[[ -n $cli && -d $root/deps/cli/$cli ]] && printf '%s' "$cli"
	return 0
}

# The method that arguments of kgb-agent choose.
method_in() {
	local method=${KGB_RUN_METHOD:-normal_cc}
	while (($# > 0)); do
		case $1 in
		-m | --method) method=${2:-} ;;
		-m?*) method=${1#-m} ;;
		--method=*) method=${1#--method=} ;;
		--) break ;;
		esac
		shift
	done
	printf '%s' "$method"
}

# Removes the binaries for other C libraries, which old versions of npm install too. Runs nothing of the package: kgb-agent
# queries its version in a sandbox.
cli_install() {
	local name=$1 binary=$2 new=$deps/cli/$1.new
	rm -rf "$new" &&
		mkdir -p "$new" &&
		cp "$root/deps/cli/$name/package.json" "$root/deps/cli/$name/package-lock.json" "$new/" &&
		(cd "$new" && npm_install) &&
		find "$new/node_modules" -mindepth 1 -maxdepth 2 -name '*-musl' -prune -exec rm -rf {} + &&
		if [[ ! -x $new/$binary ]]; then
			printf 'the package has no %s\n' "$binary"
			false
		fi &&
		rm -rf "${deps:?}/cli/$name" &&
		mv "$new" "$deps/cli/$name"
}

need_cli() {
	local name=$1 key binary
	binary=$(cli_binary "$name")
	if [[ -z $binary ]]; then
		say "$name: has no build for $(uname -m)"
		missing+=(cli)
		return 0
	fi
	# Older versions of this project installed their one CLI here.
	[[ ! -d $deps/cli/node_modules ]] || rm -rf "$deps/cli"
	key=$(hash_of "$root/deps/cli/$name/package.json" "$root/deps/cli/$name/package-lock.json")
	stamp_is "cli-$name" "$key" && [[ -x $deps/cli/$name/$binary ]] && return 0
	rm -f "$deps/stamp/cli-$name"
	if step "$name" "installing deps/cli/$name/package.json" cli_install "$name" "$binary"; then
		stamp_put "cli-$name" "$key"
	else
		missing+=(cli)
	fi
}

# chosen_clis [NAME...]: prints the names, separated by blanks; claude by default, every CLI for `all`. An unknown name is a usage
# error.
chosen_clis() {
	local name all
	mapfile -t all < <(cli_names)
	[[ $* != all ]] || set -- "${all[@]}"
	(($# > 0)) || set -- claude
	for name; do
		[[ " ${all[*]} " == *" $name "* ]] || die "$EXIT_USAGE" "no CLI '$name'; there are: ${all[*]} all"
	done
	printf '%s' "$*"
}

# ---- the whole ----

# Makes the folder $deps and locks it by descriptor 9, until that is closed.
open_deps() {
	mkdir -p "$deps/log" "$deps/stamp" 2>/dev/null && { : >>"$deps/lock"; } 2>/dev/null || return 1
	exec 9>"$deps/lock"
	if ! flock -n 9; then
		say "another $me works in this folder; waiting for it"
		flock 9
	fi
}

report_missing() {
	local part
	for part in "${missing[@]}"; do
		case $part in
		packages)
			say "NOT FETCHED: Debian packages for tests (deps/debian-test.txt). Tests and lints that need them"
			say "    skip or fail; everything else works."
			;;
		python)
			say "NOT FETCHED: Python packages (deps/python.txt). Kernels cannot be verified;"
			say "    list, doctor, --dry-run, --skip-verify, the build and the unit tests work."
			;;
		cuda)
			say "NOT FETCHED: headers of CUDA (deps/cuda-headers.txt). Without a CUDA toolkit the build leaves out the"
			say "    programs for GPUs; everything on the CPU works."
			;;
		cublas)
			say "NOT FETCHED: headers of cuBLAS (deps/cublas-headers.txt). On a GPU operators of cuBLAS have no baseline;"
			say "    everything else works."
			;;
		page)
			say "NOT FETCHED: Observable Plot and D3 (deps/page). kgb-agent report --json works, its pages do not."
			;;
		cli)
			say "NOT FETCHED: coding CLIs (deps/cli). Methods that drive them cannot run;"
			say "    verify, --skip-gen, list, doctor, --dry-run, the build and the unit tests work."
			;;
		esac
	done
	((${#missing[@]} == 0)) || say "Run the same command again when the network is back; it keeps the parts that are there."
}
