/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz_decoder.h - one input for everything that reads a capture.
 */
#ifndef TESTS_FUZZ_DECODER_H
#define TESTS_FUZZ_DECODER_H

#include <stddef.h>
#include <stdint.h>

/* Decodes the bytes as they are, and again with all checksums made good (so that what is behind them is reached), and
 * lets every writer loose on the model. Aborts when a model breaks a promise. The entry point libFuzzer calls. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

/* Makes the checksums of the file header and of every chunk good, in place. */
void fuzz_repair_checksums(uint8_t *bytes, size_t n_bytes);

#endif
