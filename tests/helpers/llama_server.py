# SPDX-License-Identifier: MIT
"""llama.cpp's server, as the package xllamacpp has it, on 127.0.0.1 until it is killed, with counts at /metrics.

usage: llama_server.py MODEL_FILE CONTEXT PORT [API_KEY]      CONTEXT: tokens of a request and its answer at most
"""

import signal
import sys

import xllamacpp

SLOTS = 4

params = xllamacpp.CommonParams()
params.model.path, params.model_alias = sys.argv[1], {"tiny"}
params.n_ctx, params.n_parallel = SLOTS * int(sys.argv[2]), SLOTS
params.hostnames, params.port, params.api_keys = ["127.0.0.1"], int(sys.argv[3]), sys.argv[4:]
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 2
params.endpoint_metrics = True
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
signal.pause()
