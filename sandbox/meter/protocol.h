/* SPDX-License-Identifier: MIT */
/** \file
 * The wire protocols of coding CLIs, and the account that pays for each. */
#ifndef KGB_SANDBOX_METER_PROTOCOL_H
#define KGB_SANDBOX_METER_PROTOCOL_H

enum kgb_protocol {
	KGB_PROTOCOL_ANTHROPIC, /* Anthropic Messages */
	KGB_PROTOCOL_CHAT, /* OpenAI Chat Completions: also most servers of open models */
	KGB_PROTOCOL_RESPONSES, /* OpenAI Responses */
	KGB_N_PROTOCOLS,
};

/** An account at an API: one address, one key. */
enum kgb_provider { KGB_PROVIDER_ANTHROPIC, KGB_PROVIDER_OPENAI, KGB_N_PROVIDERS };
enum kgb_provider kgb_protocol_provider(enum kgb_protocol protocol);
/** Environment variable that holds the provider's key: "ANTHROPIC_API_KEY", "OPENAI_API_KEY". */
const char *kgb_provider_key_variable(enum kgb_provider provider);

/** Bit of a protocol in a set of them. */
#define KGB_PROTOCOL_BIT(protocol) (1u << (protocol))
#define KGB_PROTOCOLS_ALL ((1u << KGB_N_PROTOCOLS) - 1)

/** Header that distinguishes a client's requests with equal bodies: it is part of the key by which
 * a replay finds an answer. It does not leave the gateway. */
#define KGB_SAMPLE_HEADER "x-kgb-sample"

#endif
