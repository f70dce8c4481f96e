/* SPDX-License-Identifier: Apache-2.0
 *
 * config.c - the simulated device's settings, from the environment.
 *
 * The list is simgpu_settings.def; simgpu_profiles.def has other values for known devices. A bad value is reported once
 * per process on stderr and the default is used: a typo must not silently run another device. Any thread.
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum setting_kind { KIND_U32, KIND_U64, KIND_BYTES, KIND_CC };

struct setting {
	enum setting_kind kind;
	const char *name;
	size_t offset;
	size_t size;
	uint64_t default_value, minimum, maximum;
	const char *help;
};

static const struct setting settings[] = {
#define SIMGPU_SETTING(kind, name, field, default_value, minimum, maximum, help) \
	{ KIND_##kind,                                                           \
	  name,                                                                  \
	  offsetof(struct sim_config, field),                                    \
	  sizeof(((struct sim_config *)0)->field),                               \
	  (default_value##ULL),                                                  \
	  minimum,                                                               \
	  maximum,                                                               \
	  help },
#include "simgpu_settings.def"
#undef SIMGPU_SETTING
};

#define N_SETTINGS (sizeof(settings) / sizeof(settings[0]))

static const struct sim_profile profiles[] = {
#define UNPACK(...) __VA_ARGS__
#define SIMGPU_PROFILE(setting, name, l2_bytes, memory_clock_khz, memory_bus_bits, fields) \
	{ setting, name, l2_bytes, memory_clock_khz, memory_bus_bits, { UNPACK fields } },
#include "simgpu_profiles.def"
#undef SIMGPU_PROFILE
#undef UNPACK
};

#define N_PROFILES (sizeof(profiles) / sizeof(profiles[0]))

static bool parse_number(const char *text, bool with_suffix, uint64_t *ret_value)
{
	char *end;
	uint64_t value;
	unsigned int shift = 0;

	/* strtoull accepts a sign and leading blanks; a setting does not. */
	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	value = strtoull(text, &end, 0);
	if (errno != 0)
		return false;
	if (with_suffix && *end != '\0') {
		static const char suffixes[] = "KMGT";
		const char *found = strchr(suffixes, *end & ~0x20);

		if (found == NULL)
			return false;
		shift = 10 * (unsigned int)(found - suffixes + 1);
		end++;
	}
	if (*end != '\0' || value > UINT64_MAX >> shift)
		return false;
	*ret_value = value << shift;
	return true;
}

/* "9.0" -> 90, "10.3" -> 103 */
static bool parse_cc(const char *text, uint64_t *ret_value)
{
	unsigned int major, minor;
	char rest;

	if (sscanf(text, "%2u.%1u%c", &major, &minor, &rest) != 2)
		return false;
	*ret_value = major * 10 + minor;
	return true;
}

static bool parse_setting(const struct setting *setting, const char *text, uint64_t *ret_value)
{
	uint64_t value;
	bool good = setting->kind == KIND_CC ? parse_cc(text, &value)
					     : parse_number(text, setting->kind == KIND_BYTES, &value);

	if (!good || value < setting->minimum || value > setting->maximum)
		return false;
	*ret_value = value;
	return true;
}

static void store(const struct setting *setting, uint64_t value, struct sim_config *config)
{
	char *field = (char *)config + setting->offset;

	if (setting->kind == KIND_CC) {
		config->cc_major = (uint32_t)(value / 10);
		config->cc_minor = (uint32_t)(value % 10);
	} else if (setting->size == sizeof(uint32_t)) {
		uint32_t narrow = (uint32_t)value;

		memcpy(field, &narrow, sizeof(narrow));
	} else {
		memcpy(field, &value, sizeof(value));
	}
}

static void format_value(const struct setting *setting, uint64_t value, char *ret_text, size_t bytes)
{
	if (setting->kind == KIND_CC)
		snprintf(ret_text, bytes, "%" PRIu64 ".%" PRIu64, value / 10, value % 10);
	else if (setting->kind == KIND_BYTES && value % (1 << 30) == 0 && value != 0)
		snprintf(ret_text, bytes, "%" PRIu64 "G", value >> 30);
	else if (setting->kind == KIND_BYTES && value % (1 << 20) == 0 && value != 0)
		snprintf(ret_text, bytes, "%" PRIu64 "M", value >> 20);
	else if (setting->kind == KIND_BYTES && value % (1 << 10) == 0 && value != 0)
		snprintf(ret_text, bytes, "%" PRIu64 "K", value >> 10);
	else
		snprintf(ret_text, bytes, "%" PRIu64, value);
}

static void report_bad_value(const struct setting *setting, const char *text, uint64_t used_value)
{
	char low[32], high[32], used[32];

	format_value(setting, setting->minimum, low, sizeof(low));
	format_value(setting, setting->maximum, high, sizeof(high));
	format_value(setting, used_value, used, sizeof(used));
	fprintf(stderr, "simgpu: %s='%s' is not a value from %s to %s, using %s\n", setting->name, text, low, high,
		used);
}

static const struct sim_profile *profile_from_env(void)
{
	static atomic_bool reported;
	const char *text = getenv("SIMGPU_DEVICE");

	if (text == NULL || *text == '\0')
		return NULL;
	for (size_t i = 0; i < N_PROFILES; i++)
		if (strcmp(profiles[i].setting, text) == 0)
			return &profiles[i];
	if (!atomic_exchange(&reported, true)) {
		fprintf(stderr, "simgpu: SIMGPU_DEVICE='%s' is none of", text);
		for (size_t i = 0; i < N_PROFILES; i++)
			fprintf(stderr, "%s %s", i == 0 ? "" : ",", profiles[i].setting);
		fprintf(stderr, "; using none\n");
	}
	return NULL;
}

/* What the setting is when the environment does not say. */
static uint64_t unset_value(const struct setting *setting, const struct sim_profile *profile)
{
	const char *field = profile == NULL ? NULL : (const char *)&profile->config + setting->offset;
	uint64_t wide = 0;
	uint32_t narrow = 0;

	if (field == NULL)
		return setting->default_value;
	if (setting->kind == KIND_CC)
		return profile->config.cc_major * 10 + profile->config.cc_minor;
	if (setting->size == sizeof(narrow)) {
		memcpy(&narrow, field, sizeof(narrow));
		wide = narrow;
	} else {
		memcpy(&wide, field, sizeof(wide));
	}
	return wide == 0 ? setting->default_value : wide;
}

void sim_config_from_env(struct sim_config *ret_config)
{
	static atomic_bool reported[N_SETTINGS];
	const struct sim_profile *profile = profile_from_env();

	memset(ret_config, 0, sizeof(*ret_config));
	ret_config->profile = profile;
	for (size_t i = 0; i < N_SETTINGS; i++) {
		const struct setting *setting = &settings[i];
		const char *text = getenv(setting->name);
		uint64_t value = unset_value(setting, profile);

		if (text != NULL && *text != '\0' && !parse_setting(setting, text, &value) &&
		    !atomic_exchange(&reported[i], true))
			report_bad_value(setting, text, value);
		store(setting, value, ret_config);
	}
}

void sim_config_print_settings(FILE *to)
{
	fprintf(to, "| setting | default | range | what |\n| --- | --- | --- | --- |\n");
	for (size_t i = 0; i < N_SETTINGS; i++) {
		char low[32], high[32], used[32];

		format_value(&settings[i], settings[i].minimum, low, sizeof(low));
		format_value(&settings[i], settings[i].maximum, high, sizeof(high));
		format_value(&settings[i], settings[i].default_value, used, sizeof(used));
		fprintf(to, "| `%s` | %s | %s to %s | %s |\n", settings[i].name, used, low, high, settings[i].help);
	}
}
