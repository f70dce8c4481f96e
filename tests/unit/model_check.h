/* SPDX-License-Identifier: Apache-2.0
 *
 * model_check.h - does a model keep what model.h promises?
 */
#ifndef TESTS_MODEL_CHECK_H
#define TESTS_MODEL_CHECK_H

#include "model.h"

/* What is wrong, static; NULL when all promises hold. */
const char *model_fault(const struct warpspan_model *model);

/* Unpaired records of a cause, at all places or at those called `name`. */
uint64_t model_unpaired(const struct warpspan_model *model, enum warpspan_unpaired_cause cause, const char *name);

#endif
