/* SPDX-License-Identifier: Apache-2.0
 *
 * config.h - printing the settings that sim_config_from_env() reads.
 */
#ifndef SIMGPU_CONFIG_H
#define SIMGPU_CONFIG_H

#include "engine.h"

#include <stdio.h>

/* The settings as the Markdown table of README.md. */
void sim_config_print_settings(FILE *to);

#endif
