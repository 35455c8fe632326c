/* SPDX-License-Identifier: MIT */
#include "agent/watch/cli_stream.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/time.h"

/* Most bytes of one read: a flood must not starve the loop, which serves all attempts. */
#define SLICE_MS 20
/* Most bytes of the read at the end: about a second of parsing. */
#define REST_BYTES (16LL << 20)

int kgb_cli_stream_init(struct kgb_cli_stream *stream, const char *adapter, struct kgb_err *err)
{
	stream->fd = -1;
	stream->offset = 0;
	return kgb_events_init(&stream->events, adapter, err);
}

int kgb_cli_stream_reset(struct kgb_cli_stream *stream, const char *adapter, struct kgb_err *err)
{
	kgb_cli_stream_release(stream);
	return kgb_cli_stream_init(stream, adapter, err);
}

/** Read the next piece; false at the end of what is there. */
static bool read_piece(struct kgb_cli_stream *stream)
{
	char chunk[64 * 1024];
	ssize_t n = pread(stream->fd, chunk, sizeof(chunk), stream->offset);
	if (n <= 0)
		return false;
	stream->offset += n;
	kgb_events_feed(&stream->events, chunk, (size_t)n);
	return true;
}

void kgb_cli_stream_read(struct kgb_cli_stream *stream)
{
	int64_t start_ms = kgb_mono_ms();
	while (read_piece(stream) && kgb_mono_ms() - start_ms < SLICE_MS)
		;
}

int64_t kgb_cli_stream_finish(struct kgb_cli_stream *stream)
{
	struct stat st;
	int64_t skipped = 0;
	if (fstat(stream->fd, &st) == 0 && st.st_size - stream->offset > REST_BYTES) {
		skipped = st.st_size - stream->offset - REST_BYTES;
		stream->offset += skipped;
	}
	while (read_piece(stream))
		;
	kgb_events_finish(&stream->events);
	return skipped;
}

void kgb_cli_stream_release(struct kgb_cli_stream *stream)
{
	kgb_close(stream->fd);
	kgb_events_release(&stream->events);
}
