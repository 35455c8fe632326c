# SPDX-License-Identifier: MIT
"""Makes a language model of a few hundred kilobytes that gives one of some answers, each as likely as its weight says.

usage: tiny_model.py SYSTEM_FILE PROMPT_FILE FOLDER WEIGHT:ANSWER_FILE...

FOLDER gets the model in the layout of transformers (with tokenizer and chat template), model.gguf for llama.cpp, and tokens.json:
the numbers of tokens of the prompt and of each answer with its end. The tokenizer is byte-pair encoding of the texts. The network
is a small Qwen2 that is trained, from random weights and a fixed seed, to follow the prompt with the answers; they must differ from their first token on. Training ends when the network has learned the answers.
"""

import json
import sys
from pathlib import Path

import gguf
import torch
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM

N_TOKENS = 1024
CONTEXT = 8192
BEGIN, END = "<|im_start|>", "<|im_end|>"
# A server that finds the tags of thinking here takes them out of its answers.
TEMPLATE = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' }}"
    "{% if message['reasoning_content'] %}{{ '<think>\n' + message['reasoning_content'] + '\n</think>\n\n' }}{% endif %}"
    "{{ message['content'] + '<|im_end|>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
# How llama.cpp splits texts under the name qwen2.
SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def make_tokenizer(texts):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(SPLIT), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=N_TOKENS,
        special_tokens=[END, BEGIN],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token=END, pad_token=END, chat_template=TEMPLATE)


def make_network(tokenizer):
    torch.manual_seed(1)
    return Qwen2ForCausalLM(
        Qwen2Config(
            vocab_size=len(tokenizer),
            hidden_size=96,
            intermediate_size=192,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=CONTEXT,
            tie_word_embeddings=False,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
            bos_token_id=None,
        )
    )


def pack(prompt, answers):
    """The prompt once, with all answers behind it: ids, positions and mask. No answer can look at another, and each begins where
    the prompt ends."""
    ids, positions, owners = list(prompt), list(range(len(prompt))), [-1] * len(prompt)
    for number, answer in enumerate(answers):
        ids += answer
        positions += range(len(prompt), len(prompt) + len(answer))
        owners += [number] * len(answer)
    owner = torch.tensor(owners)
    seen = (owner[None, :] == -1) | (owner[None, :] == owner[:, None])
    mask = torch.zeros(len(ids), len(ids)).masked_fill(~seen.tril(), float("-inf"))
    return torch.tensor([ids]), torch.tensor([positions]), mask[None, None]


def train(network, prompt, answers):
    """Until the first token of each answer is about as likely as its weight says, and each later one all but certain."""
    shares = torch.tensor([float(weight) for weight, _ in answers])
    shares /= shares.sum()
    n_prompt, lengths = len(prompt), [len(answer) for _, answer in answers]
    starts = [n_prompt + sum(lengths[:i]) for i in range(len(lengths))]
    ids, positions, mask = pack(prompt, [answer for _, answer in answers])
    optimizer = torch.optim.AdamW(network.parameters(), lr=3e-3)
    for step in range(1000):
        logits = network(ids, position_ids=positions, attention_mask=mask, logits_to_keep=sum(lengths) + 1).logits[0]
        losses = []
        for start, n in zip(starts, lengths, strict=True):
            at = start - n_prompt  # in the logits, whose first is of the prompt's last token
            of_answer = torch.cat((logits[:1], logits[at + 1 : at + n]))
            losses.append(torch.nn.functional.cross_entropy(of_answer, ids[0, start : start + n], reduction="none"))
        likely = torch.stack([torch.exp(-loss[0]) for loss in losses])
        off, worst = (likely - shares).abs().max().item(), max(loss[1:].max().item() for loss in losses)
        is_learned = worst < 0.01 and off < 0.1
        if step % 20 == 0 or is_learned:
            print(f"step {step}: loss of a token {worst:.4f}, shares off by {off:.3f}", flush=True)
        if is_learned:
            return
        optimizer.zero_grad()
        sum(share * loss.sum() for share, loss in zip(shares, losses, strict=True)).backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
    sys.exit("tiny_model.py: the answers are not learned")


def write_gguf(path, network, tokenizer):
    config = network.config
    writer = gguf.GGUFWriter(path, "qwen2")
    writer.add_name("tiny")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_freq_base(config.rope_parameters["rope_theta"])
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    bpe = json.loads(tokenizer.backend_tokenizer.to_str())
    tokens = sorted(bpe["model"]["vocab"], key=bpe["model"]["vocab"].get)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen2")
    writer.add_token_list(tokens)
    writer.add_token_types([gguf.TokenType.CONTROL if t in (BEGIN, END) else gguf.TokenType.NORMAL for t in tokens])
    writer.add_token_merges([" ".join(merge) for merge in bpe["model"]["merges"]])
    writer.add_eos_token_id(tokenizer.eos_token_id)
    writer.add_add_bos_token(False)
    writer.add_chat_template(TEMPLATE)
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.QWEN2, config.num_hidden_layers)
    for name, tensor in network.state_dict().items():
        writer.add_tensor(names.get_name(name, (".weight", ".bias")), tensor.float().numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main():
    system, prompt, folder = Path(sys.argv[1]).read_text(), Path(sys.argv[2]).read_text(), Path(sys.argv[3])
    weighted = [argument.partition(":") for argument in sys.argv[4:]]
    texts = [Path(path).read_text() for _, _, path in weighted]
    tokenizer = make_tokenizer([prompt, system, *(text for text in texts for _ in range(8))])
    messages = [{"role": "system", "content": system}, {"role": "user", "content": prompt}]
    start = tokenizer.encode(tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True))
    answers = [
        (int(weight), [*tokenizer.encode(text), tokenizer.eos_token_id]) for (weight, _, _), text in zip(weighted, texts, strict=True)
    ]
    network = make_network(tokenizer)
    train(network, start, answers)
    # As llama.cpp's server samples by default; that of transformers would answer greedily.
    network.generation_config.do_sample, network.generation_config.min_p = True, 0.05
    network.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    write_gguf(folder / "model.gguf", network, tokenizer)
    # What servers count.
    (folder / "tokens.json").write_text(json.dumps({"prompt": len(start), "answers": [len(answer) for _, answer in answers]}))


main()
