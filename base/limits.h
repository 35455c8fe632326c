/* SPDX-License-Identifier: MIT */
/** \file
 * Caps on all outside data. The list bounds the memory that a hostile peer can make us hold. All
 * values are bytes unless the name or comment gives another unit. */
#ifndef KGB_BASE_LIMITS_H
#define KGB_BASE_LIMITS_H

#define KGB_LIMIT_LINE (1u << 20) /* one log line, one journal line */
#define KGB_LIMIT_EVENT (8u << 20) /* one event of a CLI's stream (the largest yet had 3.5 MB) */
#define KGB_LIMIT_YAML (1u << 20) /* one YAML document */
#define KGB_LIMIT_JSON (64u << 20) /* one JSON document */
#define KGB_LIMIT_JSON_DEPTH 64 /* levels of nesting, JSON and YAML */
#define KGB_LIMIT_JSON_NODES (4u << 20) /* values in one JSON document, 64 bytes each */
#define KGB_LIMIT_YAML_NODES (256u << 10) /* values in one YAML document */
#define KGB_LIMIT_YAML_KEY 128 /* one key; escaped, it must fit the 1,024 that libyaml takes */
#define KGB_LIMIT_PROMPT (2u << 20) /* one rendered prompt */
#define KGB_LIMIT_KERNEL (256u << 10) /* one kernel.py */
#define KGB_LIMIT_TTIR (8u << 20) /* one module of Triton's IR */
#define KGB_LIMIT_HTTP_BODY (64u << 20) /* one request body at the gateway */
#define KGB_LIMIT_HTTP_ANSWER (256u << 20) /* one answer of a provider, and its record */
#define KGB_LIMIT_VERDICT (4u << 20) /* one verdict document */
#define KGB_LIMIT_TENSOR_BYTES (1u << 30) /* one tensor of a case */

#endif
