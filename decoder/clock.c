/* SPDX-License-Identifier: Apache-2.0
 *
 * clock.c - fits cycle counters to nanoseconds.
 *
 * Method. A pair {c, t} of an SM is an upright interval: at count c the line must pass between t and t + tick. The
 * slopes (periods) of the lines through all intervals of an SM are bounded by slopes between interval ends (lower end
 * to later upper end, upper to later lower), found with two convex hulls. SMs share a clock, so the slopes that all of
 * them allow are few even when each alone has only short baselines. With the slope chosen, the intervals bound the
 * offset of each SM; the middle is taken and half the width is the error, plus what the uncertainty of the slope can
 * add.
 *
 * When the SMs of a device do not agree on a slope, each takes the middle of its own range where that is narrow, and
 * the common slope otherwise. When even one SM has no line, the rate changed (or a warp was held up between its two
 * readings): the stretch of time is cut in two, near the middle of the pairs where they are sparse, and each part is
 * fitted. A part that cannot be cut gets the best line there is and says how wrong it can be.
 *
 * A warp may be held up between reading the timer and reading the counter. Then its interval lies too low by that time.
 * A delay common to all pairs cannot be seen and does not matter; for the rest intervals are widened upwards, step by
 * step (slacks), and the bound with them.
 *
 * Few pairs (a kernel of some microseconds under a 1024 ns tick) leave the slope wide open. Then it is taken from the
 * nearest epoch with a good one, else from the clock the driver states, moved into what the pairs allow. Where the
 * stated clock is among the slopes the pairs allow, it is the likeliest of them and taken.
 */
#include "clock.h"

#include <math.h>

/* fmin() and fmax() of finite numbers: those of libm would make it a dependency of every program we are in. */
static double lesser(double a, double b)
{
	return a < b ? a : b;
}

static double greater(double a, double b)
{
	return a > b ? a : b;
}

#define FIT_POINTS_MAX  4096 /* pairs of one SM looked at in one epoch; more than these add nothing to the bound */
#define EPOCHS_MAX      1024
#define EPOCH_LINES_MAX (1u << 22) /* epochs times SMs: a real device stays far below */
#define PERIOD_LEAST    0.05       /* ns per cycle: 20 GHz */
#define PERIOD_MOST     100.0      /* 10 MHz */
#define WELL_DETERMINED 0.02       /* a range of slopes narrower than this share of itself determines the rate */
#define ROUNDING_NS     0.5
#define TICK_MOST       4096u /* a detected step beyond is taken for chance */
#define TICK_FEW        8     /* fewer steps than this are few */
#define TICK_SURE       12    /* fewer different steps than this may all be multiples of several ticks */
#define TICK_SAMPLE     4096  /* steps looked at one by one */
#define HELD_UP_NS      256   /* held up for so long, a pair is left out, if another proves it */

/* How far a warp may have been held up between its two readings, tried in turn, ns. Some instructions of others always
 * come in between; with less, short baselines would give a rate that looks precise and is not. */
static const double slacks[] = { 8, 16, 32, 64, 128, 256, 512 };
#define COUNTER_STEP_NS 1.0
#define N_SLACKS        (sizeof(slacks) / sizeof(slacks[0]))

/* An interval of one SM, relative to the first pair of the fit. */
struct point {
	double c; /* cycles */
	double t; /* lower end, ns */
};

struct sm_range {
	size_t first, n; /* in pairs, which are sorted by SM and timer */
};

/* What the fit of one SM in one epoch found out. */
struct sm_fit {
	double low, high; /* slopes */
	double width;     /* of the intervals: tick and slack */
	bool feasible;
};

struct fitter {
	struct device_clock *clock;
	const struct clock_pair *pairs;
	size_t n_pairs;
	uint64_t *timers; /* ascending; those of pairs that were left out, too */
	size_t n_timers;
	struct sm_range *sms;
	size_t n_sms;
	double tick;
	double nominal; /* period the driver states; 0: not known */
	/* scratch, FIT_POINTS_MAX each */
	struct point *points;
	uint32_t *hull_low, *hull_high;
	struct sm_fit *fits; /* n_sms */
	double (*ends)[2];   /* of n_sms or FIT_POINTS_MAX intervals: position, +1 or -1 */
};

/* --- the step of the timer -------------------------------------------------------------------- */

static uint64_t gcd(uint64_t a, uint64_t b)
{
	while (b != 0) {
		const uint64_t rest = a % b;
		a = b;
		b = rest;
	}
	return a;
}

/* The largest step timers are known to have that divides `n`: a power of two up to 1024, or 1000. */
static uint64_t plausible_step(uint64_t n)
{
	const uint64_t power = n & -n;
	if (power < 1024 && n % 1000 == 0)
		return 1000;
	return power > 1024 ? 1024 : power;
}

static int by_value(const void *left, const void *right)
{
	const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
	return (a > b) - (a < b);
}

/* Is `step` what 98 of 100 of the sorted steps are multiples of, in many different ways? */
static bool is_step_of_most(const uint64_t *steps, size_t n, uint64_t step)
{
	size_t n_multiples = 0, n_different = 0;
	for (size_t i = 0; i < n; i++) {
		if (steps[i] % step != 0)
			continue;
		n_multiples++;
		n_different += i == 0 || steps[i] != steps[i - 1];
	}
	return n_multiples >= n - n / 50 && n_different >= 16;
}

/* The largest step that holds for nearly all: a timer that is corrected now and then spoils the common divisor. 0:
 * there are too few to tell. Steps that are rare themselves (1 in 200) are not tried. */
static uint64_t step_of_most(const uint64_t *steps, size_t n)
{
	uint64_t found = 0;
	if (n < 64)
		return 0;
	for (size_t i = 0, run = 0; i < n && steps[i] <= TICK_MOST; i++) {
		run = i > 0 && steps[i] == steps[i - 1] ? run + 1 : 1;
		const bool last = i + 1 == n || steps[i + 1] != steps[i];
		if (last && run > n / 200 && is_step_of_most(steps, n, steps[i]))
			found = steps[i];
	}
	return found;
}

int clock_detect_tick(const uint64_t *timers, size_t n, uint32_t *ret_tick, bool *ret_at_most)
{
	uint64_t *steps = malloc(n * sizeof(*steps));
	if (steps == NULL)
		return -1;
	size_t n_steps = 0, n_different = 0;
	uint64_t divisor = 0;
	for (size_t i = 1; i < n; i++) {
		if (timers[i] == timers[i - 1])
			continue;
		steps[n_steps] = timers[i] - timers[i - 1];
		divisor = gcd(divisor, steps[n_steps]);
		n_steps++;
	}
	uint64_t tick = divisor;
	if (n_steps == 0) {
		tick = plausible_step(timers[0] | 1024);
	} else if (n_steps < TICK_FEW || divisor > TICK_MOST) {
		tick = plausible_step(divisor);
	} else {
		const size_t n_kept = n_steps < TICK_SAMPLE ? n_steps : TICK_SAMPLE;
		for (size_t i = 0; i < n_kept; i++)
			steps[i] = steps[i * (n_steps / n_kept)];
		qsort(steps, n_kept, sizeof(*steps), by_value);
		for (size_t i = 0; i < n_kept; i++)
			n_different += i == 0 || steps[i] != steps[i - 1];
		const uint64_t usual = step_of_most(steps, n_kept);
		if (usual > tick)
			tick = usual;
	}
	free(steps);
	*ret_tick = (uint32_t)tick;
	/* Each further step that is a multiple by chance halves the odds that the tick is finer; equal ones say
	 * nothing. */
	*ret_at_most = n_different < TICK_SURE && tick > 1;
	return 0;
}

/* --- slopes ----------------------------------------------------------------------------------- */

static double slope(double c0, double t0, double c1, double t1)
{
	return (t1 - t0) / (c1 - c0);
}

/* Adds point i to a hull whose corners are points raised by `up`; `sign` +1: the lower hull, -1: the upper hull. */
static size_t hull_add(const struct point *points, uint32_t *hull, size_t n, uint32_t i, double sign)
{
	while (n >= 2) {
		const struct point *a = &points[hull[n - 2]], *b = &points[hull[n - 1]], *c = &points[i];
		const double turn = (b->c - a->c) * (c->t - a->t) - (b->t - a->t) * (c->c - a->c);
		if (turn * sign > 0)
			break;
		n--;
	}
	hull[n] = i;
	return n + 1;
}

/* The steepest slope (times `sign`) from a corner of the hull, raised by `up`, to a later point. Along the hull it
 * rises and then falls, so the top is found by bisection. */
static double hull_tangent(const struct point *points, const uint32_t *hull, size_t n, double up, double c, double t,
			   double sign)
{
	size_t low = 0, high = n - 1;
	while (low < high) {
		const size_t middle = (low + high) / 2;
		const struct point *a = &points[hull[middle]], *b = &points[hull[middle + 1]];
		if (sign * slope(b->c, b->t + up, c, t) > sign * slope(a->c, a->t + up, c, t))
			low = middle + 1;
		else
			high = middle;
	}
	return slope(points[hull[low]].c, points[hull[low]].t + up, c, t);
}

/* The slopes of the lines through all intervals; *ret_low > *ret_high: there is none. Points are sorted by c. */
static void slope_range(struct fitter *fitter, size_t n, double width, double *ret_low, double *ret_high)
{
	const struct point *points = fitter->points;
	double low = PERIOD_LEAST, high = PERIOD_MOST;
	size_t n_low = 0, n_high = 0;
	for (size_t i = 0; i < n && low <= high;) {
		/* Points at one count: queried before any of them joins the hulls. */
		size_t next = i;
		double least = points[i].t, most = points[i].t;
		for (; next < n && points[next].c == points[i].c; next++) {
			least = lesser(least, points[next].t);
			most = greater(most, points[next].t);
		}
		if (most - least > width) {
			low = 1;
			high = 0;
			break;
		}
		if (n_low > 0) {
			low = greater(low, hull_tangent(points, fitter->hull_low, n_low, width, points[i].c, most, 1));
			high = lesser(high, hull_tangent(points, fitter->hull_high, n_high, 0, points[i].c,
							 least + width, -1));
		}
		uint32_t lowest = (uint32_t)i, highest = (uint32_t)i;
		for (size_t k = i; k < next; k++) {
			if (points[k].t < points[lowest].t)
				lowest = (uint32_t)k;
			if (points[k].t > points[highest].t)
				highest = (uint32_t)k;
		}
		n_low = hull_add(points, fitter->hull_low, n_low, lowest, 1);
		n_high = hull_add(points, fitter->hull_high, n_high, highest, -1);
		i = next;
	}
	*ret_low = low;
	*ret_high = high;
}

static int by_cycles(const void *left, const void *right)
{
	const struct point *a = left, *b = right;
	if (a->c != b->c)
		return a->c < b->c ? -1 : 1;
	return (a->t > b->t) - (a->t < b->t);
}

/* The first pair of the SM with a timer of at least `from_ns`. */
static size_t first_from(const struct fitter *fitter, const struct sm_range *sm, uint64_t from_ns)
{
	size_t low = sm->first, high = sm->first + sm->n;
	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		if (fitter->pairs[middle].timer_ns < from_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The pairs of an SM with from <= timer <= last, as points relative to the first of them; at most FIT_POINTS_MAX,
 * evenly picked, both ends among them. Returns how many; *ret_origin is the pair they are relative to. */
static size_t gather(struct fitter *fitter, const struct sm_range *sm, uint64_t from_ns, uint64_t last_ns,
		     const struct clock_pair **ret_origin, size_t *ret_n_pairs)
{
	const size_t first = first_from(fitter, sm, from_ns);
	const size_t end = last_ns == UINT64_MAX ? sm->first + sm->n : first_from(fitter, sm, last_ns + 1);
	const size_t n = end - first;
	const size_t n_points = n < FIT_POINTS_MAX ? n : FIT_POINTS_MAX;
	const struct clock_pair *origin = &fitter->pairs[first];
	*ret_n_pairs = n;
	*ret_origin = origin;
	for (size_t i = 0; i < n_points; i++) {
		const size_t pick = n_points == n ? i : (size_t)((double)i * (double)(n - 1) / (double)(n_points - 1));
		const struct clock_pair *pair = &origin[pick];
		fitter->points[i] = (struct point){
			.c = (double)(int64_t)(pair->cycles - origin->cycles),
			.t = (double)(int64_t)(pair->timer_ns - origin->timer_ns),
		};
	}
	if (n_points > 1)
		qsort(fitter->points, n_points, sizeof(*fitter->points), by_cycles);
	return n_points;
}

static bool narrow(double low, double high)
{
	return high - low <= WELL_DETERMINED * low;
}

static int by_position(const void *left, const void *right)
{
	const double *a = left, *b = right;
	if (a[0] != b[0])
		return a[0] < b[0] ? -1 : 1;
	return (a[1] < b[1]) - (a[1] > b[1]); /* what begins comes before what ends */
}

/* Of intervals whose ends (begin +1, end -1) are in fitter->ends: the part that the most of them share. Returns how
 * many that are. */
static size_t most_shared(struct fitter *fitter, size_t n_ends, double *ret_low, double *ret_high)
{
	size_t depth = 0, deepest = 0;
	if (n_ends > 1)
		qsort(fitter->ends, n_ends, sizeof(*fitter->ends), by_position);
	for (size_t i = 0; i < n_ends; i++) {
		if (fitter->ends[i][1] < 0) {
			depth--;
			continue;
		}
		if (++depth > deepest) {
			deepest = depth;
			*ret_low = fitter->ends[i][0];
			*ret_high = fitter->ends[i + 1][0]; /* the last of them always ends something */
		}
	}
	return deepest;
}

static size_t add_interval(struct fitter *fitter, size_t n_ends, double low, double high)
{
	fitter->ends[n_ends][0] = low;
	fitter->ends[n_ends][1] = 1;
	fitter->ends[n_ends + 1][0] = high;
	fitter->ends[n_ends + 1][1] = -1;
	return n_ends + 2;
}

/* The range of slopes that the most SMs allow. */
static size_t agree(struct fitter *fitter, const struct sm_fit *fits, size_t n, double *ret_low, double *ret_high)
{
	size_t n_ends = 0;
	*ret_low = PERIOD_LEAST;
	*ret_high = PERIOD_MOST;
	for (size_t i = 0; i < n; i++)
		if (fits[i].feasible)
			n_ends = add_interval(fitter, n_ends, fits[i].low, fits[i].high);
	return most_shared(fitter, n_ends, ret_low, ret_high);
}

/* Finds the slopes an epoch allows. False: some SM has no line, so the epoch should be cut. */
static bool fit_slopes(struct fitter *fitter, uint64_t from_ns, uint64_t last_ns, struct clock_epoch *epoch)
{
	size_t n_fits = 0;
	epoch->n_pairs = 0;
	for (size_t i = 0; i < fitter->n_sms; i++) {
		const struct clock_pair *origin;
		size_t n_pairs;
		const size_t n = gather(fitter, &fitter->sms[i], from_ns, last_ns, &origin, &n_pairs);
		if (n == 0)
			continue;
		epoch->n_pairs += n_pairs;
		struct sm_fit *fit = &fitter->fits[n_fits++];
		*fit = (struct sm_fit){ .feasible = false };
		for (size_t k = 0; k < N_SLACKS && !fit->feasible; k++) {
			fit->width = fitter->tick + slacks[k];
			slope_range(fitter, n, fit->width, &fit->low, &fit->high);
			fit->feasible = fit->low <= fit->high;
		}
		if (!fit->feasible && !epoch->loose)
			return false;
	}
	epoch->one_rate = agree(fitter, fitter->fits, n_fits, &epoch->low, &epoch->high) == n_fits;
	epoch->fitted = !epoch->loose && narrow(epoch->low, epoch->high);
	epoch->period = (epoch->low + epoch->high) / 2;
	if (fitter->nominal >= epoch->low && fitter->nominal <= epoch->high)
		epoch->period = fitter->nominal;
	return true;
}

/* --- epochs ----------------------------------------------------------------------------------- */

static size_t first_timer_from(const struct fitter *fitter, uint64_t from_ns)
{
	size_t low = 0, high = fitter->n_timers;
	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		if (fitter->timers[middle] < from_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Where to cut [from, last]: the widest gap between timers in the middle half of the pairs. False: nothing to cut. */
static bool cut_place(const struct fitter *fitter, uint64_t from_ns, uint64_t last_ns, uint64_t *ret_cut_ns)
{
	const size_t first = first_timer_from(fitter, from_ns);
	size_t end = last_ns == UINT64_MAX ? fitter->n_timers : first_timer_from(fitter, last_ns + 1);
	if (end - first < 4 || fitter->timers[first] == fitter->timers[end - 1])
		return false;
	const size_t quarter = (end - first) / 4;
	uint64_t widest = 0;
	for (int all = 0; all < 2 && widest == 0; all++) {
		const size_t low = all ? first + 1 : first + quarter;
		const size_t high = all ? end : end - quarter;
		for (size_t i = low; i < high; i++)
			if (fitter->timers[i] - fitter->timers[i - 1] > widest) {
				widest = fitter->timers[i] - fitter->timers[i - 1];
				*ret_cut_ns = fitter->timers[i];
			}
	}
	return widest > 0;
}

/* Cuts the device's time into epochs, earliest first. The stack holds the parts still to fit, the earliest on top. */
static int find_epochs(struct fitter *fitter)
{
	struct part {
		uint64_t from_ns, last_ns;
	};
	ARRAY(struct part) stack = { 0 };
	int result = WARPSPAN_OK;
	struct part *whole = array_add(&stack);
	if (whole == NULL)
		return WARPSPAN_NO_MEMORY;
	*whole = (struct part){ fitter->timers[0], UINT64_MAX };
	while (stack.n > 0 && result == WARPSPAN_OK) {
		const struct part part = stack.items[--stack.n];
		struct clock_epoch epoch = { .from_ns = part.from_ns };
		uint64_t cut_ns = 0;
		if (!fit_slopes(fitter, part.from_ns, part.last_ns, &epoch)) {
			const size_t n_epochs = fitter->clock->epochs.n + stack.n + 2;
			const bool may_cut = n_epochs <= EPOCHS_MAX && n_epochs * fitter->n_sms <= EPOCH_LINES_MAX;
			if (may_cut && cut_place(fitter, part.from_ns, part.last_ns, &cut_ns)) {
				struct part *later = array_add(&stack);
				if (later != NULL)
					*later = (struct part){ cut_ns, part.last_ns };
				struct part *earlier = later != NULL ? array_add(&stack) : NULL;
				if (earlier != NULL)
					*earlier = (struct part){ part.from_ns, cut_ns - 1 };
				else
					result = WARPSPAN_NO_MEMORY;
				continue;
			}
			epoch.loose = true;
			fit_slopes(fitter, part.from_ns, part.last_ns, &epoch);
		}
		struct clock_epoch *added = array_add(&fitter->clock->epochs);
		if (added == NULL)
			result = WARPSPAN_NO_MEMORY;
		else
			*added = epoch;
	}
	free(stack.items);
	return result;
}

static double clamp(double value, double low, double high)
{
	return value < low ? low : value > high ? high : value;
}

/* Gives epochs whose pairs do not determine the rate that of the nearest one whose do, else the driver's. */
static void borrow_rates(struct fitter *fitter)
{
	struct clock_epoch *epochs = fitter->clock->epochs.items;
	const size_t n = fitter->clock->epochs.n;
	size_t before = SIZE_MAX;
	for (size_t i = 0, after = 0; i < n; i++) {
		if (epochs[i].fitted) {
			before = i;
			continue;
		}
		if (after < i)
			after = i;
		while (after < n && !epochs[after].fitted)
			after++;
		double period = fitter->nominal > 0 ? fitter->nominal : epochs[i].period;
		if (before != SIZE_MAX && (after == n || i - before <= after - i))
			period = epochs[before].period;
		else if (after < n)
			period = epochs[after].period;
		epochs[i].period = epochs[i].loose ? period : clamp(period, epochs[i].low, epochs[i].high);
	}
}

/* --- lines ------------------------------------------------------------------------------------ */

/* The offsets a slope allows: the highest lower end and the lowest upper end, at count `middle`. */
static void offset_range(const struct point *points, size_t n, double period, double middle, double width,
			 double *ret_low, double *ret_high)
{
	double low = -INFINITY, high = INFINITY;
	for (size_t i = 0; i < n; i++) {
		const double offset = points[i].t - period * (points[i].c - middle);
		low = greater(low, offset);
		high = lesser(high, offset + width);
	}
	*ret_low = low;
	*ret_high = high;
}

/* All intervals are widened for the sake of warps that were held up; most did not need it. The offset that the most of
 * the intervals as they are allow is likelier than the middle of what all of them allow when widened. */
static double likeliest_offset(struct fitter *fitter, size_t n, double period, double middle, double low, double high)
{
	double least = low, most = high;
	size_t n_ends = 0;
	for (size_t i = 0; i < n; i++) {
		const double offset = fitter->points[i].t - period * (fitter->points[i].c - middle);
		n_ends = add_interval(fitter, n_ends, offset, offset + fitter->tick + COUNTER_STEP_NS);
	}
	most_shared(fitter, n_ends, &least, &most);
	return clamp((least + most) / 2, low, high);
}

/* The highest value that any line through the intervals, with a slope in [low, high], has at count `c`; with sign -1,
 * the lowest one, negated. As a function of the slope the highest value is concave, so it lies below its tangents at
 * both ends, and below where these meet. */
static double value_bound(const struct point *points, size_t n, double width, double low, double high, double c,
			  double sign)
{
	const double ends[2] = { low, high };
	double value[2] = { INFINITY, INFINITY }, change[2] = { 0, 0 };
	for (int end = 0; end < 2; end++)
		for (size_t i = 0; i < n; i++) {
			const double limit = sign > 0 ? points[i].t + width : -points[i].t;
			const double here = limit - sign * ends[end] * (points[i].c - c);
			if (here < value[end]) {
				value[end] = here;
				change[end] = -sign * (points[i].c - c);
			}
		}
	if (change[0] <= 0 || high <= low)
		return value[0];
	if (change[1] >= 0)
		return value[1];
	const double meeting = (value[1] - change[1] * high - value[0] + change[0] * low) / (change[0] - change[1]);
	return value[0] + change[0] * (clamp(meeting, low, high) - low);
}

/* How far the line can be from the truth anywhere between the first and the last pair: the distance of two lines is
 * greatest at one of the ends. */
static double line_error(const struct point *points, size_t n, double width, double low, double high,
			 const struct clock_line *line)
{
	double most = 0;
	for (int end = 0; end < 2; end++) {
		const double c = end == 0 ? points[0].c : points[n - 1].c;
		const double told = line->at_origin + line->period * c;
		most = greater(most, value_bound(points, n, width, low, high, c, 1) - told);
		most = greater(most, told + value_bound(points, n, width, low, high, c, -1));
	}
	return most;
}

/* Chooses slope and offset of one SM in an epoch; points are those of gather(). */
static void choose_line(struct fitter *fitter, const struct clock_epoch *epoch, size_t n, struct clock_line *line)
{
	const struct point *points = fitter->points;
	const double middle = (points[0].c + points[n - 1].c) / 2;
	struct sm_fit fit = { 0 };
	for (size_t k = 0; k < N_SLACKS && !fit.feasible; k++) {
		fit.width = fitter->tick + slacks[k];
		slope_range(fitter, n, fit.width, &fit.low, &fit.high);
		fit.feasible = fit.low <= fit.high;
	}
	double low = fit.low, high = fit.high; /* where the true slope is */
	line->period = epoch->period;
	if (fit.feasible && epoch->one_rate && epoch->period >= fit.low && epoch->period <= fit.high) {
		low = epoch->low;
		high = epoch->high;
	} else if (fit.feasible && narrow(fit.low, fit.high)) {
		line->period = (fit.low + fit.high) / 2;
	} else if (fit.feasible) {
		line->period = clamp(epoch->period, fit.low, fit.high);
	}
	double offset_low, offset_high;
	offset_range(points, n, line->period, middle, fit.width, &offset_low, &offset_high);
	const double offset = likeliest_offset(fitter, n, line->period, middle, offset_low, offset_high);
	line->at_origin = offset - line->period * middle;
	if (fit.feasible) {
		line->error_ns = lesser(line_error(points, n, fit.width, low, high, line), fit.width);
	} else {
		/* No line fits. Lower ends are true whatever held a warp up: stay above them, and say what that costs.
		 */
		line->at_origin = offset_low + fitter->tick / 2 - line->period * middle;
		line->error_ns = offset_low - offset_high + fit.width + fitter->tick / 2;
	}
	line->error_ns = greater(line->error_ns, 0) + ROUNDING_NS;
}

static int find_lines(struct fitter *fitter)
{
	struct device_clock *clock = fitter->clock;
	for (size_t i = 0; i < fitter->n_sms; i++) {
		const struct sm_range *sm = &fitter->sms[i];
		/* An SM need not have pairs in every epoch: go from pair to pair. */
		size_t at = sm->first;
		for (uint32_t e = 0; e < clock->epochs.n && at < sm->first + sm->n; e++) {
			const struct clock_epoch *epoch = &clock->epochs.items[e];
			const uint64_t last_ns = e + 1 < clock->epochs.n ? epoch[1].from_ns - 1 : UINT64_MAX;
			if (fitter->pairs[at].timer_ns > last_ns)
				continue;
			const struct clock_pair *origin;
			size_t n_pairs;
			const size_t n = gather(fitter, sm, epoch->from_ns, last_ns, &origin, &n_pairs);
			struct clock_line *line = array_add(&clock->lines);
			if (line == NULL)
				return WARPSPAN_NO_MEMORY;
			line->sm = origin->sm;
			line->epoch = e;
			line->origin = origin->cycles;
			line->n_pairs = (uint32_t)(n_pairs < UINT32_MAX ? n_pairs : UINT32_MAX);
			choose_line(fitter, epoch, n, line);
			line->at_origin += (double)(origin->timer_ns - clock->base_ns);
			at += n_pairs;
		}
	}
	return WARPSPAN_OK;
}

/* --- the device ------------------------------------------------------------------------------- */

static int by_sm_and_timer(const void *left, const void *right)
{
	const struct clock_pair *a = left, *b = right;
	if (a->sm != b->sm)
		return a->sm < b->sm ? -1 : 1;
	if (a->timer_ns != b->timer_ns)
		return a->timer_ns < b->timer_ns ? -1 : 1;
	return (a->cycles > b->cycles) - (a->cycles < b->cycles);
}

static int by_sm_and_cycles(const void *left, const void *right)
{
	const struct clock_pair *a = left, *b = right;
	if (a->sm != b->sm)
		return a->sm < b->sm ? -1 : 1;
	if (a->cycles != b->cycles)
		return a->cycles < b->cycles ? -1 : 1;
	return (a->timer_ns > b->timer_ns) - (a->timer_ns < b->timer_ns);
}

/* Leaves out pairs that others prove wrong: of two pairs of an SM the one with the higher count was read later, so if
 * its timer is earlier by more than a tick, its warp was held up (preempted) between the two readings. Where that
 * seems to be true of many, it is the counter that was set back, and all stay. Returns how many pairs are left. */
static size_t drop_held_up(struct clock_pair *pairs, size_t n_pairs, uint32_t tick_ns)
{
	size_t n_kept = 0;
	qsort(pairs, n_pairs, sizeof(*pairs), by_sm_and_cycles);
	for (size_t first = 0, end; first < n_pairs; first = end) {
		uint64_t latest = 0;
		size_t n_held_up = 0;
		for (end = first; end < n_pairs && pairs[end].sm == pairs[first].sm; end++) {
			if (pairs[end].timer_ns >= latest)
				latest = pairs[end].timer_ns;
			else
				n_held_up += latest - pairs[end].timer_ns > (uint64_t)tick_ns + HELD_UP_NS;
		}
		const bool drop = n_held_up <= (end - first) / 20;
		latest = 0;
		for (size_t i = first; i < end; i++) {
			const struct clock_pair pair = pairs[i];
			if (pair.timer_ns >= latest)
				latest = pair.timer_ns;
			else if (drop && latest - pair.timer_ns > (uint64_t)tick_ns + HELD_UP_NS)
				continue;
			pairs[n_kept++] = pair;
		}
	}
	return n_kept;
}

static int find_sms(struct fitter *fitter)
{
	for (size_t i = 0; i < fitter->n_pairs; i++)
		fitter->n_sms += i == 0 || fitter->pairs[i].sm != fitter->pairs[i - 1].sm;
	fitter->sms = calloc(fitter->n_sms, sizeof(*fitter->sms));
	fitter->fits = calloc(fitter->n_sms, sizeof(*fitter->fits));
	const size_t n_intervals = fitter->n_sms > FIT_POINTS_MAX ? fitter->n_sms : FIT_POINTS_MAX;
	fitter->ends = calloc(2 * n_intervals, sizeof(*fitter->ends));
	fitter->points = malloc(FIT_POINTS_MAX * sizeof(*fitter->points));
	fitter->hull_low = malloc(FIT_POINTS_MAX * sizeof(*fitter->hull_low));
	fitter->hull_high = malloc(FIT_POINTS_MAX * sizeof(*fitter->hull_high));
	if (fitter->sms == NULL || fitter->fits == NULL || fitter->ends == NULL || fitter->points == NULL ||
	    fitter->hull_low == NULL || fitter->hull_high == NULL)
		return WARPSPAN_NO_MEMORY;
	struct sm_range *sm = fitter->sms;
	for (size_t i = 0; i < fitter->n_pairs; i++) {
		if (i > 0 && fitter->pairs[i].sm != fitter->pairs[i - 1].sm)
			*++sm = (struct sm_range){ .first = i };
		sm->n++;
	}
	return WARPSPAN_OK;
}

static int by_double(const void *left, const void *right)
{
	const double a = *(const double *)left, b = *(const double *)right;
	return (a > b) - (a < b);
}

/* What the model says of the clock as a whole. */
static int summarise(struct fitter *fitter)
{
	struct device_clock *clock = fitter->clock;
	struct warpspan_clock_fit *fit = &clock->fit;
	const struct clock_epoch *best = &clock->epochs.items[0];
	for (size_t i = 1; i < clock->epochs.n; i++) {
		const struct clock_epoch *epoch = &clock->epochs.items[i];
		if (epoch->fitted != best->fitted ? epoch->fitted : epoch->n_pairs > best->n_pairs)
			best = epoch;
	}
	fit->rate_hz = 1e9 / best->period;
	fit->fitted = best->fitted;
	fit->n_sms = (uint32_t)fitter->n_sms;
	fit->n_pairs = (uint32_t)(fitter->n_pairs < UINT32_MAX ? fitter->n_pairs : UINT32_MAX);
	fit->n_epochs = (uint32_t)clock->epochs.n;
	double *errors = malloc(clock->lines.n * sizeof(*errors));
	if (errors == NULL)
		return WARPSPAN_NO_MEMORY;
	for (size_t i = 0; i < clock->lines.n; i++)
		errors[i] = clock->lines.items[i].error_ns;
	qsort(errors, clock->lines.n, sizeof(*errors), by_double);
	fit->error_ns = errors[clock->lines.n - 1];
	fit->typical_error_ns = errors[clock->lines.n / 2];
	free(errors);
	return WARPSPAN_OK;
}

static int sort_timers(struct fitter *fitter, const struct clock_pair *pairs, size_t n_pairs)
{
	fitter->timers = malloc(n_pairs * sizeof(*fitter->timers));
	fitter->n_timers = n_pairs;
	if (fitter->timers == NULL)
		return WARPSPAN_NO_MEMORY;
	for (size_t i = 0; i < n_pairs; i++)
		fitter->timers[i] = pairs[i].timer_ns;
	qsort(fitter->timers, n_pairs, sizeof(*fitter->timers), by_value);
	return WARPSPAN_OK;
}

static int fit_pairs(struct fitter *fitter, struct clock_pair *pairs, size_t n_pairs)
{
	struct device_clock *clock = fitter->clock;
	int result = sort_timers(fitter, pairs, n_pairs);
	if (result == WARPSPAN_OK &&
	    clock_detect_tick(fitter->timers, n_pairs, &clock->fit.tick_ns, &clock->fit.tick_at_most) < 0)
		result = WARPSPAN_NO_MEMORY;
	if (result < 0)
		return result;
	clock->base_ns = fitter->timers[0];
	fitter->tick = clock->fit.tick_ns;
	fitter->n_pairs = drop_held_up(pairs, n_pairs, clock->fit.tick_ns);
	qsort(pairs, fitter->n_pairs, sizeof(*pairs), by_sm_and_timer);
	result = find_sms(fitter);
	if (result == WARPSPAN_OK)
		result = find_epochs(fitter);
	if (result < 0)
		return result;
	borrow_rates(fitter);
	result = find_lines(fitter);
	return result < 0 ? result : summarise(fitter);
}

int device_clock_fit(struct device_clock *clock, struct clock_pair *pairs, size_t n_pairs, uint32_t clock_khz)
{
	struct fitter fitter = { .clock = clock, .pairs = pairs };
	if (clock_khz > 0)
		fitter.nominal = clamp(1e6 / clock_khz, PERIOD_LEAST, PERIOD_MOST);
	const int result = fit_pairs(&fitter, pairs, n_pairs);
	free(fitter.sms);
	free(fitter.fits);
	free(fitter.ends);
	free(fitter.points);
	free(fitter.hull_low);
	free(fitter.hull_high);
	free(fitter.timers);
	return result;
}

void device_clock_finish(struct device_clock *clock)
{
	free(clock->epochs.items);
	free(clock->lines.items);
	memset(clock, 0, sizeof(*clock));
}

static uint32_t epoch_of(const struct device_clock *clock, uint64_t timer_ns)
{
	size_t low = 0, high = clock->epochs.n;
	while (high - low > 1) {
		const size_t middle = low + (high - low) / 2;
		if (clock->epochs.items[middle].from_ns <= timer_ns)
			low = middle;
		else
			high = middle;
	}
	return (uint32_t)low;
}

static const struct clock_line *line_of(const struct device_clock *clock, const struct clock_pair *pair)
{
	const uint32_t epoch = epoch_of(clock, pair->timer_ns);
	size_t low = 0, high = clock->lines.n;
	while (high - low > 1) {
		const size_t middle = low + (high - low) / 2;
		const struct clock_line *line = &clock->lines.items[middle];
		if (line->sm < pair->sm || (line->sm == pair->sm && line->epoch <= epoch))
			low = middle;
		else
			high = middle;
	}
	/* An SM whose pairs of this epoch were all left out: its line of another. */
	if (clock->lines.items[low].sm != pair->sm && low + 1 < clock->lines.n)
		low++;
	return &clock->lines.items[low];
}

static double time_at(const struct clock_line *line, uint64_t cycles)
{
	return line->at_origin + line->period * (double)(int64_t)(cycles - line->origin);
}

double device_clock_line(const struct device_clock *clock, const struct clock_pair *open,
			 const struct clock_pair *close, double *ret_start, double *ret_period)
{
	const struct clock_line *first = line_of(clock, open);
	*ret_start = time_at(first, open->cycles);
	*ret_period = first->period;
	if (close == NULL)
		return first->error_ns;
	const struct clock_line *last = line_of(clock, close);
	if (last == first)
		return first->error_ns;
	/* The rate changed on the way: the mean rate, within those there were, through the middle of the two ends. */
	const double cycles = (double)(close->cycles - open->cycles);
	const double end = time_at(last, close->cycles);
	double least = lesser(first->period, last->period), most = greater(first->period, last->period);
	for (const struct clock_line *line = first; line < last && line->sm == first->sm; line++) {
		least = lesser(least, line->period);
		most = greater(most, line->period);
	}
	const double middle = (*ret_start + end) / 2;
	*ret_period = cycles > 0 ? clamp((end - *ret_start) / cycles, least, most) : first->period;
	*ret_start = middle - *ret_period * cycles / 2;
	/* A quarter of what one rate alone would be off by is how far two rates bend away from their chord. */
	return greater(first->error_ns, last->error_ns) + (most - least) * cycles / 4;
}
