#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""verify/python/runner/zygote.py: a zygote outlives its workers' ends and a lack of memory. No worker runs."""

import json
import pathlib
import socket
import sys
import unittest
import unittest.mock

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "verify" / "python" / "runner"))
sys.dont_write_bytecode = True
import zygote  # noqa: E402


def pair():
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)


def no_memory():
    raise OSError(12, "Cannot allocate memory")


class Ends(unittest.TestCase):
    def setUp(self):
        self.spares = zygote.Spares("reference", {})
        self.door, self.spare = pair()
        self.spares.doors.append(self.door)
        self.hub, self.server = pair()
        self.control, self.judge = pair()

    def tearDown(self):
        for one in (self.door, self.spare, self.hub, self.server, self.control, self.judge):
            one.close()

    def test_a_spare_that_ends_is_forgotten(self):
        self.spare.close()
        self.spares.hear(self.door)
        self.assertEqual((self.spares.doors, self.spares.lent), ([], []))

    def test_a_spare_that_ends_before_it_reads_its_request_is_forgotten(self):
        self.assertTrue(self.spares.hand_over(self.control))
        self.assertEqual(self.spares.lent, [self.door])
        self.spare.close()
        self.spares.hear(self.door)
        self.assertEqual((self.spares.doors, self.spares.lent), ([], []))

    def test_a_lasting_spare_is_free_again(self):
        self.spares.hand_over(self.control)
        self.spare.send(zygote.FREE)
        self.spares.hear(self.door)
        self.assertEqual((self.spares.doors, self.spares.lent), ([self.door], []))

    def test_a_judge_hears_that_there_is_no_memory_for_a_worker(self):
        with unittest.mock.patch("os.fork", no_memory):
            zygote.run_supervisor(lambda: zygote.start_worker("runner", self.control, {}, None), self.control)
        self.assertIn("Cannot allocate memory", json.loads(self.judge.recv(4096))["error"])

    def test_a_judge_that_is_gone_hears_nothing(self):
        self.judge.close()
        with unittest.mock.patch("os.fork", no_memory):
            zygote.run_supervisor(lambda: zygote.start_worker("runner", self.control, {}, None), self.control)

    def test_a_spare_for_which_there_is_no_memory_counts_as_made(self):
        self.spares.wanted = 2
        hub = zygote.Hub(self.hub, [self.spares])
        with unittest.mock.patch("os.fork", no_memory):
            hub.make()
        self.assertEqual(self.server.recv(16), zygote.MADE)
        self.assertIsNone(hub.making)
        self.assertEqual(self.spares.doors, [self.door])


if __name__ == "__main__":
    unittest.main()
