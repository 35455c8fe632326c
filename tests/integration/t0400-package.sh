#!/bin/sh
# SPDX-License-Identifier: MIT
test_description='the Debian package in an empty Debian tree: install, doctor, the main job, remove'
. "$(dirname "$0")/lib.sh"
test_require sandbox torch claude

for command in debootstrap dpkg-shlibdeps cpack; do
	command -v $command >/dev/null || test_skip_all "no command $command"
done
[ "$(id -u)" -eq 0 ] || test_skip_all 'a Debian tree is made by root'
mirror=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null |
	sed -n 's/^URIs: *\([^ ]*\).*/\1/p; s/^deb \(\[[^]]*\] \)*\([a-z]*:[^ ]*\) .*/\2/p' | head -n 1)
suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
if [ -z "$mirror" ] || [ -z "$suite" ]; then
	test_skip_all 'this is no Debian with a mirror'
fi

# inside COMMAND...: runs the command in the tree, with this machine's kernel and network, and with the files that setup has
# fetched for the source tree.
inside() {
	mkdir -p debian/var/lib/kgb-agent
	bwrap --cap-add ALL --bind debian / --bind /proc /proc --dev /dev --bind /sys /sys \
		--ro-bind /etc/resolv.conf /etc/resolv.conf --ro-bind /etc/hosts /etc/hosts \
		--ro-bind "$(readlink -f "$KGB_TEST_SOURCE_DIR/.deps")" /var/lib/kgb-agent \
		--clearenv --setenv PATH /usr/sbin:/usr/bin:/sbin:/bin --setenv HOME /root \
		--setenv DEBIAN_FRONTEND noninteractive --chdir /root "$@"
}

test_expect_success 'cpack makes a package' '
	cd "$KGB_TEST_SOURCE_DIR" && cmake --preset release >"$TRASH/log" 2>&1 && cmake --build --preset release >>"$TRASH/log" 2>&1 &&
	cd build/release && cpack -B "$TRASH/package" >>"$TRASH/log" 2>&1 &&
	cp "$TRASH"/package/kgb-agent_*.deb "$TRASH/kgb-agent.deb" &&
	dpkg-deb -c "$TRASH/kgb-agent.deb" | awk "{ print \$6 }" >"$TRASH/names" && cd "$TRASH" &&
	for name in bin/kgb-agent libexec/kgb-agent/kgb-judge share/kgb-agent/verify/python/runner/runner.py \
		share/kgb-agent/datasets/kernelgenbench/operators.yaml share/man/man1/kgb-agent.1.gz \
		share/bash-completion/completions/kgb-agent; do
		test_grep "^./usr/$name$" names || return 1
	done &&
	test_no_grep -E "__pycache__|\.c$|CMake" names
'

test_expect_success 'no path of the source or build tree is in it' '
	mkdir unpacked && dpkg-deb -x kgb-agent.deb unpacked &&
	! grep -rlF "$KGB_TEST_SOURCE_DIR" unpacked
'

test_expect_success 'the package installs into an empty Debian' '
	debootstrap --variant=minbase "$suite" debian "$mirror" >log 2>&1 &&
	: >debian/etc/apt/sources.list && cp -a /etc/apt/. debian/etc/apt/ && cp kgb-agent.deb debian/tmp/ &&
	inside apt-get update -qq >>log 2>&1 &&
	inside apt-get install -y -qq --no-install-recommends /tmp/kgb-agent.deb >>log 2>&1
'

test_expect_success 'its doctor finds every part' '
	inside kgb-agent doctor >out 2>&1 || true
	test_grep "^PASS  programs" out && test_grep "^PASS  data .*: 210 operators" out && test_grep "^PASS  sandbox" out &&
	test_no_grep "^FAIL" out
'

test_expect_success 'the main job passes there' '
	inside kgb-agent add -m normal_cc --device-count 1 >out 2>err &&
	test_grep "1 of 1 passed" out
'

test_expect_success 'after the removal no file of the package is left' '
	inside apt-get purge -y -qq kgb-agent >log 2>&1 &&
	! find debian/usr debian/etc -name "*kgb*" | grep .
'

test_done
