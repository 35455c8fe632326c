/* SPDX-License-Identifier: MIT */
/** \file
 * The callbacks: which driver functions are watched, and what each means for the record. CUPTI
 * calls on whatever thread the program uses; one mutex orders them.
 */
#ifndef KGB_VERIFY_TRACE_CAPTURE_H
#define KGB_VERIFY_TRACE_CAPTURE_H

#include <pthread.h>

#include "verify/cuda/cupti.h"
#include "verify/trace/tracer.h"

struct kgb_capture {
	pthread_mutex_t mutex; /* of the tracer */
	struct kgb_tracer tracer;
	atomic_bool in_window; /* read without the mutex by callbacks that count only in windows */
	struct kgb_cupti cupti;
	CUpti_SubscriberHandle subscriber;
	_Atomic(CUpti_CallbackId) canary; /* 0: not chosen yet */
};

/** Ask for callbacks; the capture must live as long as the process. The tracer is initialised. */
KGB_MUST_CHECK int kgb_capture_start(struct kgb_capture *capture, struct kgb_err *err);

/** Driver calls of this thread between the two are the library's own and are not recorded. Pairs
 * may nest. */
void kgb_capture_mute(void);
void kgb_capture_unmute(void);

/** Whether callbacks still come in: a test call into the driver, which must be initialised. Called
 * by one thread at a time. */
bool kgb_capture_alive(struct kgb_capture *capture);

#endif
