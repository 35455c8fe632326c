/* SPDX-License-Identifier: MIT */
#include "sandbox/offline/offline_script.h"

#include <ctype.h>
#include <fcntl.h>
#include <string.h>
#include <strings.h>

#include "base/formats/yaml.h"
#include "base/limits.h"
#include "base/str.h"
#include "base/system/fs.h"

#define HEREDOC_END "KGB_EOF"
/* Bytes of a tool result that the script quotes. */
#define MAX_REPORT_QUOTE 4096

/* Files as decoded. */
struct sessions_file {
	struct kgb_objects verify;
	struct kgb_objects oneshot;
	struct kgb_objects again;
	struct kgb_objects sample;
	struct kgb_objects drawn;
};
struct shared_file {
	struct kgb_objects mistakes;
	struct sessions_file sessions;
};
struct script_file {
	const char *operator_name;
	const char *note;
	const char *bug;
	const char *fix;
	struct kgb_field_map kernels;
	struct sessions_file sessions;
};

static const char *const expect_names[] = {"any", "passed", "failed", NULL};
static const char *const pool_names[] = {"none", "honest", "wrong", "cheat", NULL};

static const struct kgb_field turn_fields[] = {
	{KGB_FIELD(struct kgb_offline_turn, say, STR), .required = true, .doc = "What is said."},
	{KGB_FIELD(struct kgb_offline_turn, write, STR), .doc = "Kernel to write to kernel.py."},
	{KGB_FIELD(struct kgb_offline_turn, run, STR), .doc = "Shell command to run."},
	{KGB_FIELD(struct kgb_offline_turn, describe, STR), .doc = "One line beside the command."},
	{KGB_FIELD(struct kgb_offline_turn, expect, ENUM), .names = expect_names, .def = "any",
	 .doc = "What the last tool result must be."},
	{KGB_FIELD(struct kgb_offline_turn, otherwise, STR), .doc = "Said when it is not."},
	{KGB_FIELD(struct kgb_offline_turn, weight, I64), .min = 1, .max = 1000, .def = "1",
	 .doc = "Of session sample: how often it is drawn, against the others."},
	{KGB_FIELD(struct kgb_offline_turn, kernel, ENUM), .names = pool_names, .def = "none",
	 .doc = "Of session sample: kernels of the tests, of which one is drawn."},
	{KGB_FIELD(struct kgb_offline_turn, mistake, STR),
	 .doc = "Of session sample: mistake in an honest kernel."},
	{KGB_FIELD(struct kgb_offline_turn, cut, I64), .min = 0, .max = 99, .def = "0",
	 .doc = "Of session sample: percent of the answer that arrive; 0: all of it."},
	KGB_FIELD_END,
};

static const struct kgb_field sessions_fields[] = {
	{KGB_FIELD(struct sessions_file, verify, OBJECTS), .sub = turn_fields,
	 .sub_size = sizeof(struct kgb_offline_turn),
	 .doc = "Turns of a session with a shell tool and kgb-verify."},
	{KGB_FIELD(struct sessions_file, oneshot, OBJECTS), .sub = turn_fields,
	 .sub_size = sizeof(struct kgb_offline_turn), .doc = "Turns of a session without tools."},
	{KGB_FIELD(struct sessions_file, again, OBJECTS), .sub = turn_fields,
	 .sub_size = sizeof(struct kgb_offline_turn),
	 .doc = "Turns of a later round on the same kernel; none: those of verify."},
	{KGB_FIELD(struct sessions_file, sample, OBJECTS), .sub = turn_fields,
	 .sub_size = sizeof(struct kgb_offline_turn),
	 .doc = "Answers of a bare model, of which one is drawn; none: those of oneshot."},
	{KGB_FIELD(struct sessions_file, drawn, OBJECTS), .sub = turn_fields,
	 .sub_size = sizeof(struct kgb_offline_turn),
	 .doc = "Turns of a session with a shell tool whose kernel a seed draws."},
	KGB_FIELD_END,
};

static const struct kgb_field mistake_fields[] = {
	{KGB_FIELD(struct kgb_offline_mistake, name, STR), .required = true,
	 .doc = "By which answers name it."},
	{KGB_FIELD(struct kgb_offline_mistake, bug, STR), .required = true,
	 .doc = "What is wrong, as a clause."},
	{KGB_FIELD(struct kgb_offline_mistake, fix, STR), .required = true,
	 .doc = "What a right kernel does instead, as a clause."},
	{KGB_FIELD(struct kgb_offline_mistake, replace, STR), .doc = "Text to be replaced."},
	{KGB_FIELD(struct kgb_offline_mistake, by, STR), .doc = "What comes in its place."},
	{KGB_FIELD(struct kgb_offline_mistake, append, STR), .doc = "Lines at the end."},
	KGB_FIELD_END,
};

static const struct kgb_field shared_fields[] = {
	{KGB_FIELD(struct shared_file, mistakes, OBJECTS), .sub = mistake_fields,
	 .sub_size = sizeof(struct kgb_offline_mistake), .doc = "Ways to spoil an honest kernel."},
	{KGB_FIELD(struct shared_file, sessions, OBJECT), .required = true, .sub = sessions_fields,
	 .doc = "What is said and done."},
	KGB_FIELD_END,
};

static const struct kgb_field script_fields[] = {
	{KGB_FIELD_AS("operator", struct script_file, operator_name, STR), .required = true,
	 .doc = "Full name of the operator."},
	{KGB_FIELD(struct script_file, note, STR), .def = "", .doc = "What the script shows."},
	{KGB_FIELD(struct script_file, bug, STR), .required = true,
	 .doc = "Mistake of the first kernel."},
	{KGB_FIELD(struct script_file, fix, STR), .required = true,
	 .doc = "How the second mends it."},
	{KGB_FIELD(struct script_file, kernels, MAP), .required = true,
	 .doc = "Python sources by name."},
	{KGB_FIELD(struct script_file, sessions, OBJECT), .sub = sessions_fields,
	 .doc = "Replaces the sessions of session.yaml."},
	KGB_FIELD_END,
};

/* ---- texts ---- */

const char *kgb_offline_kernel(const struct kgb_offline_session *session, const char *name)
{
	for (size_t i = 0; i < session->kernels.n; i++)
		if (strcmp(session->kernels.keys[i], name) == 0)
			return session->kernels.values[i];
	return NULL;
}

/* Next line of [*at, ...) without its end; NULL after the last. */
static const char *next_line(const char **at, size_t *len)
{
	const char *line = *at;
	if (!*line)
		return NULL;
	*len = strcspn(line, "\n");
	*at = line + *len + (line[*len] == '\n');
	while (*len > 0 && isspace((unsigned char)*line)) {
		line++;
		--*len;
	}
	return line;
}

static bool starts_word(const char *line, size_t len, const char *word)
{
	size_t n = strlen(word);
	return len >= n && strncmp(line, word, n) == 0;
}

/* First line of the report that starts with a word, or the fallback; in the arena-like buffer of
 * the caller. */
static void first_line(const char *report, const char *word, const char *fallback,
		       struct kgb_buf *out)
{
	size_t len;
	for (const char *at = report, *line; (line = next_line(&at, &len));) {
		if (starts_word(line, len, word)) {
			kgb_buf_add(out, line, len);
			return;
		}
	}
	if (fallback)
		kgb_buf_adds(out, fallback);
}

bool kgb_offline__has_line(const char *report, const char *word)
{
	size_t len;
	for (const char *at = report, *line; (line = next_line(&at, &len));)
		if (starts_word(line, len, word))
			return true;
	return false;
}

struct texts {
	const struct kgb_offline_session *session;
	const struct kgb_offline_quoted *quoted;
	struct kgb_buf passed_line;
	struct kgb_buf failing_case;
	struct kgb_buf last_result;
};

static const char *lookup(const char *name, const void *payload)
{
	static const char kernel[] = "kernel.";
	const struct texts *texts = payload;
	const struct kgb_offline_session *session = texts->session;
	if (strncmp(name, kernel, sizeof(kernel) - 1) == 0)
		return kgb_offline_kernel(session, name + sizeof(kernel) - 1);
	const struct {
		const char *name;
		const char *text;
	} table[] = {
		{"operator", session->operator_name},
		{"kernel", texts->quoted->kernel},
		{"bug", texts->quoted->bug ? texts->quoted->bug : session->bug},
		{"fix", session->fix},
		{"note", session->note},
		{"last_result", texts->last_result.ptr},
		{"passed_line", texts->passed_line.ptr},
		{"failing_case", texts->failing_case.ptr},
	};
	for (size_t i = 0; i < KGB_ARRAY_LEN(table); i++)
		if (strcmp(name, table[i].name) == 0)
			return table[i].text;
	return NULL;
}

static void read_report(struct texts *texts, const char *report)
{
	first_line(report, "PASSED", "(the report has no such line)", &texts->passed_line);
	first_line(report, "case:", NULL, &texts->failing_case);
	if (texts->failing_case.len == 0)
		first_line(report, "FAIL", "(the report names no case)", &texts->failing_case);
	size_t len = strlen(report);
	kgb_utf8_repair(&texts->last_result, report,
			len < MAX_REPORT_QUOTE ? len : MAX_REPORT_QUOTE);
	if (len > MAX_REPORT_QUOTE)
		kgb_buf_adds(&texts->last_result, "\n(shortened)");
	while (texts->last_result.len > 0 &&
	       texts->last_result.ptr[texts->last_result.len - 1] == '\n')
		kgb_buf_truncate(&texts->last_result, texts->last_result.len - 1);
}

int kgb_offline__render(const struct kgb_offline_session *session, const char *text,
			const struct kgb_offline_quoted *quoted, struct kgb_buf *out,
			struct kgb_err *err)
{
	struct texts texts = {.session = session,
			      .quoted = quoted,
			      .passed_line = KGB_BUF_INIT(0),
			      .failing_case = KGB_BUF_INIT(0),
			      .last_result = KGB_BUF_INIT(0)};
	read_report(&texts, quoted->report);
	int rc = kgb_template_render(out, text, lookup, &texts, err);
	kgb_buf_release(&texts.passed_line);
	kgb_buf_release(&texts.failing_case);
	kgb_buf_release(&texts.last_result);
	while (rc == 0 && out->len > 0 && out->ptr[out->len - 1] == '\n')
		kgb_buf_truncate(out, out->len - 1);
	return rc;
}

void kgb_offline__command(const struct kgb_offline_session *session,
			  const struct kgb_offline_turn *turn, struct kgb_buf *out)
{
	if (turn->write) {
		const char *kernel = kgb_offline_kernel(session, turn->write);
		/* The quoted delimiter keeps the shell from touching the text. */
		kgb_buf_addf(out, "cat > kernel.py <<'" HEREDOC_END "'\n%s\n" HEREDOC_END "\n",
			     kernel);
	}
	if (turn->run)
		kgb_buf_adds(out, turn->run);
}

/* ---- loading ---- */

static int check_text(const struct kgb_offline_session *session, const char *name, size_t number,
		      const char *text, bool has_kernel, struct kgb_err *err)
{
	const struct kgb_offline_quoted quoted = {.report = "", .kernel = has_kernel ? "" : NULL};
	KGB_AUTO(buf) struct kgb_buf out = KGB_BUF_INIT(KGB_LIMIT_PROMPT);
	if (text && kgb_offline__render(session, text, &quoted, &out, err) < 0)
		return kgb_ctx(err, "session '%s', turn %zu", name, number);
	return 0;
}

static int check_turn(const struct kgb_offline_session *session, const char *name, size_t number,
		      bool last, const struct kgb_offline_turn *turn, struct kgb_err *err)
{
	const bool has_kernel = turn->mistake || turn->kernel != KGB_OFFLINE_NO_KERNEL;
	if (check_text(session, name, number, turn->say, has_kernel, err) < 0 ||
	    check_text(session, name, number, turn->otherwise, false, err) < 0)
		return -1;
	const char *wrong = NULL;
	if (turn->write && turn->run)
		wrong = "has both 'write' and 'run': make two turns of it";
	else if (turn->expect != KGB_OFFLINE_EXPECT_ANY && !turn->otherwise)
		wrong = "has 'expect' without 'otherwise'";
	else if (turn->expect != KGB_OFFLINE_EXPECT_ANY && number == 1)
		wrong = "expects something of a result, but there is none before the first turn";
	else if (last && (turn->write || turn->run))
		wrong = "is the last one and still runs something: the session would never end";
	else if (!last && !turn->write && !turn->run)
		wrong = "runs nothing, so the session ends there: the turns behind it are never reached";
	if (wrong)
		return kgb_fail(err, KGB_ERR_INVALID, "session '%s', turn %zu: %s", name, number,
				wrong);
	if (turn->write && !kgb_offline_kernel(session, turn->write))
		return kgb_fail(err, KGB_ERR_INVALID,
				"session '%s', turn %zu: there is no kernel '%s'", name, number,
				turn->write);
	return 0;
}

static int check_turns(const struct kgb_offline_session *session, const char *name,
		       const struct kgb_offline_turns *turns, struct kgb_err *err)
{
	if (turns->n == 0)
		return kgb_fail(err, KGB_ERR_INVALID, "session '%s' has no turns", name);
	for (size_t i = 0; i < turns->n; i++)
		if (check_turn(session, name, i + 1, i + 1 == turns->n, &turns->items[i], err) < 0)
			return -1;
	return 0;
}

/** Each answer is the only turn of its session, and the last one can always be given. */
static int check_samples(const struct kgb_offline_session *session, struct kgb_err *err)
{
	const struct kgb_offline_turns *answers = &session->sample;
	for (size_t i = 0; i < answers->n; i++) {
		const struct kgb_offline_turn *answer = &answers->items[i];
		if (check_turn(session, "sample", 1, true, answer, err) < 0)
			return kgb_ctx(err, "answer %zu", i + 1);
		if (answer->mistake && !kgb_offline__find_mistake(session, answer->mistake))
			return kgb_fail(err, KGB_ERR_INVALID,
					"session 'sample', answer %zu: there is no mistake '%s'",
					i + 1, answer->mistake);
	}
	const struct kgb_offline_turn *last = &answers->items[answers->n - 1];
	if (last->mistake || last->kernel != KGB_OFFLINE_NO_KERNEL)
		return kgb_fail(
			err, KGB_ERR_INVALID,
			"session 'sample': the last answer needs a kernel: put one without behind it");
	return 0;
}

static int check_mistakes(const struct kgb_offline_session *session, struct kgb_err *err)
{
	for (size_t i = 0; i < session->n_mistakes; i++) {
		const struct kgb_offline_mistake *mistake = &session->mistakes[i];
		if (!mistake->replace != !mistake->by || (!mistake->replace && !mistake->append) ||
		    (mistake->replace && !*mistake->replace))
			return kgb_fail(err, KGB_ERR_INVALID,
					"mistake '%s' needs 'replace' and 'by', or 'append'",
					mistake->name);
	}
	return 0;
}

static int check_kernels(const struct kgb_offline_session *session, struct kgb_err *err)
{
	for (size_t i = 0; i < session->kernels.n; i++) {
		const char *kernel = session->kernels.values[i];
		if (kgb_offline__has_line(kernel, HEREDOC_END))
			return kgb_fail(err, KGB_ERR_INVALID,
					"kernel '%s' has a line '" HEREDOC_END "'",
					session->kernels.keys[i]);
		if (strlen(kernel) > KGB_LIMIT_KERNEL)
			return kgb_fail(err, KGB_ERR_LIMIT, "kernel '%s' is over %u bytes",
					session->kernels.keys[i], KGB_LIMIT_KERNEL);
	}
	return 0;
}

static int check_session(const struct kgb_offline_session *session, struct kgb_err *err)
{
	if (check_kernels(session, err) < 0 || check_mistakes(session, err) < 0 ||
	    check_turns(session, "verify", &session->verify, err) < 0 ||
	    check_turns(session, "again", &session->again, err) < 0 ||
	    check_turns(session, "oneshot", &session->oneshot, err) < 0)
		return -1;
	return check_samples(session, err);
}

static struct kgb_offline_turns choose(const struct kgb_objects *own,
				       const struct kgb_objects *shared)
{
	const struct kgb_objects *from = own->n ? own : shared;
	return (struct kgb_offline_turns){.items = from->items, .n = from->n};
}

static const char *without_last_newlines(struct kgb_offline_session *session, const char *text)
{
	size_t len = strlen(text);
	while (len > 0 && text[len - 1] == '\n')
		len--;
	return kgb_arena_strndup(&session->arena, text, len);
}

static int decode_source(const struct kgb_field *table, const struct kgb_offline_source *source,
			 void *out, struct kgb_arena *arena, struct kgb_err *err)
{
	KGB_AUTO(yaml) struct kgb_yaml doc = KGB_YAML_INIT;
	if (kgb_yaml_parse(source->name, source->yaml, source->len, &doc, err) < 0)
		return -1;
	kgb_decode_defaults(table, out, arena);
	return kgb_decode(table, &doc, doc.root, out, arena, err);
}

/** Make a script for an operator without one: the first mistake in an honest kernel. */
static int make_script(struct kgb_offline_session *session, struct kgb_err *err)
{
	const char *fixed = session->pools[KGB_OFFLINE_HONEST].texts[0];
	const struct kgb_offline_mistake *mistake = NULL;
	static const char *const names[] = {"buggy", "fixed"};
	for (size_t i = 0; i < session->n_mistakes && !mistake; i++)
		if (kgb_offline__applies(&session->mistakes[i], fixed))
			mistake = &session->mistakes[i];
	session->operator_name = kgb_offline__operator_of(session, fixed);
	if (!mistake || !session->operator_name)
		return kgb_fail(err, KGB_ERR_INVALID, "an honest kernel of tests/honest %s",
				mistake ? "has no line '# operator: NAME'"
					: "is changed by none of the mistakes");
	KGB_AUTO(free) char *buggy = kgb_offline__spoil(mistake, fixed);
	session->note = "";
	session->bug = mistake->bug;
	session->fix = mistake->fix;
	session->kernels = (struct kgb_field_map){
		.keys = kgb_arena_array(&session->arena, KGB_ARRAY_LEN(names), sizeof(char *)),
		.values = kgb_arena_array(&session->arena, KGB_ARRAY_LEN(names), sizeof(char *)),
		.n = KGB_ARRAY_LEN(names)};
	memcpy(session->kernels.keys, names, sizeof(names));
	session->kernels.values[0] = kgb_arena_strdup(&session->arena, buggy);
	session->kernels.values[1] = fixed;
	return 0;
}

static void use_script(struct kgb_offline_session *session, const struct script_file *script)
{
	session->operator_name = script->operator_name;
	session->note = script->note;
	session->bug = script->bug;
	session->fix = script->fix;
	session->kernels = script->kernels;
	for (size_t i = 0; i < session->kernels.n; i++)
		session->kernels.values[i] =
			without_last_newlines(session, session->kernels.values[i]);
}

/** The kernel that the seed draws becomes one of the script's. */
static int draw_kernel(struct kgb_offline_session *session, struct kgb_err *err)
{
	struct kgb_field_map *kernels = &session->kernels;
	KGB_AUTO(free)
	char *kernel = session->seed ? kgb_offline__draw_kernel(session, session->seed) : NULL;
	if (!kernel)
		return 0;
	struct kgb_field_map more = {
		.keys = kgb_arena_array(&session->arena, kernels->n + 1, sizeof(char *)),
		.values = kgb_arena_array(&session->arena, kernels->n + 1, sizeof(char *)),
		.n = kernels->n + 1};
	memcpy(more.keys, kernels->keys, kernels->n * sizeof(char *));
	memcpy(more.values, kernels->values, kernels->n * sizeof(char *));
	more.keys[kernels->n] = KGB_OFFLINE_DRAWN;
	more.values[kernels->n] = kgb_arena_strdup(&session->arena, kernel);
	*kernels = more;
	return check_kernels(session, err) < 0 ||
			       check_turns(session, "drawn", &session->drawn, err) < 0
		       ? -1
		       : 0;
}

static int parse_into(struct kgb_offline_session *session,
		      const struct kgb_offline_source *sessions,
		      const struct kgb_offline_source *source, struct kgb_err *err)
{
	struct shared_file shared = {0};
	struct script_file script = {0};
	if (decode_source(shared_fields, sessions, &shared, &session->arena, err) < 0 ||
	    (source && decode_source(script_fields, source, &script, &session->arena, err) < 0))
		return -1;
	session->mistakes = shared.mistakes.items;
	session->n_mistakes = shared.mistakes.n;
	if (source)
		use_script(session, &script);
	else if (make_script(session, err) < 0)
		return -1;
	session->verify = choose(&script.sessions.verify, &shared.sessions.verify);
	session->oneshot = choose(&script.sessions.oneshot, &shared.sessions.oneshot);
	session->again = choose(&script.sessions.again, &shared.sessions.again);
	if (session->again.n == 0)
		session->again = session->verify;
	session->sample = choose(&script.sessions.sample, &shared.sessions.sample);
	if (session->sample.n == 0)
		session->sample = session->oneshot;
	session->drawn = choose(&script.sessions.drawn, &shared.sessions.drawn);
	if (check_session(session, err) < 0 || draw_kernel(session, err) < 0)
		return kgb_ctx(err, "%s", source ? source->name : sessions->name);
	return 0;
}

int kgb_offline_parse(struct kgb_offline_session **out, const struct kgb_offline_source *sessions,
		      const struct kgb_offline_source *script, enum kgb_offline_variant variant,
		      struct kgb_err *err)
{
	struct kgb_offline_session *session = kgb_xcalloc(1, sizeof(*session));
	session->variant = variant;
	if (parse_into(session, sessions, script, err) < 0) {
		kgb_offline_free(session);
		return -1;
	}
	*out = session;
	return 0;
}

static char *script_path(const struct kgb_offline_subject *subject)
{
	return kgb_xasprintf("%s/datasets/offline/%s.yaml", subject->data_dir, subject->safe_name);
}

bool kgb_offline_can_answer(const struct kgb_offline_subject *subject)
{
	KGB_AUTO(free) char *path = script_path(subject);
	struct kgb_offline_session kernels = {0};
	const bool can = kgb_fs_exists(AT_FDCWD, path) ||
			 (kgb_offline__read_kernels(&kernels, subject, NULL) == 0 &&
			  kernels.pools[KGB_OFFLINE_HONEST].n > 0);
	kgb_arena_release(&kernels.arena);
	return can;
}

static int load_into(struct kgb_offline_session *session, const struct kgb_offline_subject *subject,
		     struct kgb_err *err)
{
	KGB_AUTO(buf) struct kgb_buf sessions = KGB_BUF_INIT(KGB_LIMIT_YAML);
	KGB_AUTO(buf) struct kgb_buf script = KGB_BUF_INIT(KGB_LIMIT_YAML);
	KGB_AUTO(free)
	char *sessions_path = kgb_path_join(subject->data_dir, "datasets/offline/session.yaml");
	KGB_AUTO(free) char *path = script_path(subject);
	const bool has_script = kgb_fs_exists(AT_FDCWD, path);
	session->seed = subject->seed ? kgb_arena_strdup(&session->arena, subject->seed) : NULL;
	if (kgb_offline__read_kernels(session, subject, err) < 0)
		return -1;
	if (!has_script && session->pools[KGB_OFFLINE_HONEST].n == 0)
		return kgb_fail(
			err, KGB_ERR_NOT_FOUND,
			"the offline model has no kernel for '%s' (no '%s'): set ANTHROPIC_API_KEY to use the real API",
			subject->safe_name, path);
	if (kgb_fs_read(AT_FDCWD, sessions_path, KGB_LIMIT_YAML, &sessions, err) < 0 ||
	    (has_script && kgb_fs_read(AT_FDCWD, path, KGB_LIMIT_YAML, &script, err) < 0))
		return -1;
	const struct kgb_offline_source source = {path, script.ptr, script.len};
	return parse_into(session,
			  &(struct kgb_offline_source){sessions_path, sessions.ptr, sessions.len},
			  has_script ? &source : NULL, err);
}

int kgb_offline_load(struct kgb_offline_session **out, const struct kgb_offline_subject *subject,
		     enum kgb_offline_variant variant, struct kgb_err *err)
{
	struct kgb_offline_session *session = kgb_xcalloc(1, sizeof(*session));
	session->variant = variant;
	if (load_into(session, subject, err) < 0) {
		kgb_offline_free(session);
		return -1;
	}
	*out = session;
	return 0;
}

void kgb_offline_free(struct kgb_offline_session *session)
{
	if (!session)
		return;
	kgb_arena_release(&session->arena);
	kgb_free(session);
}

const char *kgb_offline_operator(const struct kgb_offline_session *session)
{
	return session->operator_name;
}
