/* Two level types in C.
 *
 *     cc -shared -fPIC -O2 -I ../../ust-plugin/include -o liblevels.so levels.c
 *     ust --plugin ./liblevels.so show "gen:poisson2d(2)" --format "(i, j) -> (i : dense, j : gap(255))"
 *
 * gap(m): how many coordinates are left out before each, at most m, in a byte
 *
 *      0 1 2 3 4 5 6 7       (i, j) -> (i : dense, j : gap(3)), shape 2x8
 *  0 [ 1 . . 2 . . . . ]
 *  1 [ . 4 . . . . . 5 ]     level 1  pos     0      2         5     parents + 1
 *                                     gap     0  2   1  3  1
 *                                     values  1  2   4  0  5
 *
 *   Where more than m are left out, places with the gap m and a padding value stand between.
 *
 * counted: where the coordinates of each parent begin, and how many there are
 *
 *                            (i, j) -> (i : dense, j : counted)
 *                            level 1  start   0      2            parents
 *                                     count   2      2            parents
 *                                     crd     0  3   1  7
 *                                     values  1  2   4  5
 *
 *   There may be gaps between the segments, which ascend. Children are inserted into the gap behind their segment.
 */
#include "ust_plugin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Writes why a function fails. */
static int32_t fail(ust_error *error, int32_t code, const char *subject, const char *message, int64_t first,
                    int64_t second) {
    snprintf(error->subject, sizeof error->subject, "%s", subject);
    snprintf(error->message, sizeof error->message, "%s", message);
    error->first = first;
    error->second = second;
    return code;
}

/* gap(m) */

enum { POS, GAP, GAP_ARRAYS };

static const ust_array_spec GAP_SPECS[GAP_ARRAYS] = {
    {UST_TEXT("pos"), {0, 0}, UST_POSITIONS, UST_PER_PARENT_BOUND, 0, 8},
    {UST_TEXT("gap"), {0, 0}, UST_OWN, UST_PER_POSITION, UST_U8, 8},
};

/* A level with its argument, and its text. */
struct gap {
    int64_t most;
    char text[16];
};

static const struct gap *as_gap(const ust_level *level) { return (const struct gap *)level; }

static int32_t gap_make(const ust_level_type *type, const ust_arg *args, uint64_t arg_count, ust_level **level,
                        ust_error *error) {
    (void)type;
    if (arg_count != 1 || !args[0].is_number || args[0].number < 1 || args[0].number > 255)
        return fail(error, UST_BAD_ARGUMENT, "", "it takes the largest gap, from 1 to 255, as in `gap(255)`", 0, 0);
    struct gap *made = malloc(sizeof *made);
    if (!made) return fail(error, UST_FAILED, "", "no memory", 0, 0);
    made->most = (int64_t)args[0].number;
    snprintf(made->text, sizeof made->text, "gap(%d)", (int)made->most);
    *level = (ust_level *)made;
    return UST_OK;
}

static void gap_drop(ust_level *level) { free(level); }

static int32_t gap_describe(const ust_level *level, ust_description *description, ust_error *error) {
    (void)error;
    description->text.data = as_gap(level)->text;
    description->text.len = strlen(as_gap(level)->text);
    description->arrays = GAP_SPECS;
    description->array_count = GAP_ARRAYS;
    /* Places between hold padding, also where the level's expression passes over coordinates. */
    description->properties = UST_ORDERED | UST_UNIQUE | UST_COMPACT | UST_PADDED | UST_OVERHANGS;
    description->locate = UST_LOCATE_BY_WALKING;
    return UST_OK;
}

static int32_t gap_assemble(const ust_level *level, const ust_site *site, const ust_children *children,
                            ust_assembly *assembly, ust_error *error) {
    const int64_t most = as_gap(level)->most;
    /* First the positions, then what stands there. */
    int64_t *pos = assembly->array(assembly->host, POS, children->parents + 1);
    if (!pos) return fail(error, UST_FAILED, "", "no memory for pos", 0, 0);
    uint64_t positions = 0;
    for (uint64_t parent = 0; parent < children->parents; parent++) {
        int64_t next = site->lower;
        for (int64_t child = children->offsets[parent]; child < children->offsets[parent + 1]; child++) {
            positions += (uint64_t)((children->crd[child] - next) / (most + 1));
            assembly->position[child] = (int64_t)positions;
            positions++;
            next = children->crd[child] + 1;
        }
        if (positions > site->max_positions)
            return fail(error, UST_TOO_LARGE, "the number of positions", "there are more than memory is allowed for", 0, 0);
        pos[parent + 1] = (int64_t)positions;
    }
    int64_t *gap = assembly->array(assembly->host, GAP, positions);
    if (!gap) return fail(error, UST_FAILED, "", "no memory for gap", 0, 0);
    for (uint64_t at = 0; at < positions; at++) gap[at] = most;
    for (uint64_t parent = 0; parent < children->parents; parent++) {
        int64_t next = site->lower;
        for (int64_t child = children->offsets[parent]; child < children->offsets[parent + 1]; child++) {
            gap[assembly->position[child]] = (children->crd[child] - next) % (most + 1);
            next = children->crd[child] + 1;
        }
    }
    assembly->positions = positions;
    return UST_OK;
}

static int32_t gap_check(const ust_level *level, const ust_site *site, const ust_array *arrays,
                         const ust_parents *parents, ust_reach *reach, ust_error *error) {
    const ust_array pos = arrays[POS], gap = arrays[GAP];
    if (pos.length != parents->positions + 1)
        return fail(error, UST_LENGTH, "pos", "parents + 1", (int64_t)pos.length, 0);
    if (pos.data[0] != 0) return fail(error, UST_INVALID, "pos", "positions begin at 0", 0, pos.data[0]);
    for (uint64_t at = 1; at < pos.length; at++)
        if (pos.data[at] < pos.data[at - 1])
            return fail(error, UST_INVALID, "pos", "positions do not descend", (int64_t)at, pos.data[at]);
    if (gap.length != (uint64_t)pos.data[pos.length - 1])
        return fail(error, UST_LENGTH, "gap", "the last of pos", (int64_t)gap.length, 0);
    for (uint64_t i = 0; i < parents->interval_count; i++) {
        for (uint64_t parent = parents->intervals[i].lo; parent < parents->intervals[i].hi; parent++) {
            uint64_t left = site->size;
            for (int64_t at = pos.data[parent]; at < pos.data[parent + 1]; at++) {
                if (gap.data[at] > as_gap(level)->most)
                    return fail(error, UST_INVALID, "gap", "it is at most the argument of the level", at, gap.data[at]);
                if ((uint64_t)gap.data[at] >= left)
                    return fail(error, UST_INVALID, "gap", "it does not lead out of the level", at, gap.data[at]);
                left -= (uint64_t)gap.data[at] + 1;
            }
            reach->add(reach->host, (uint64_t)pos.data[parent], (uint64_t)pos.data[parent + 1]);
        }
    }
    reach->positions = gap.length;
    reach->listed = 1;
    return UST_OK;
}

static int32_t gap_walk(const ust_level *level, ust_text *text, ust_error *error) {
    (void)level, (void)error;
    static const ust_text walk = UST_TEXT(
        "let next = lower;\n"
        "cursor position at from pos[parent] to pos[parent + 1];\n"
        "step {\n"
        "    coordinate next + gap[at];\n"
        "    position at;\n"
        "}\n"
        "advance {\n"
        "    next = next + gap[at] + 1;\n"
        "}\n");
    *text = walk;
    return UST_OK;
}

/* Competes where few places hold padding. */
static int32_t gap_candidates(const ust_level *level, const ust_statistics *statistics, const ust_proposals *proposals,
                              ust_error *error) {
    (void)level, (void)error;
    static const ust_text text = UST_TEXT("gap(255)");
    if (statistics->entries > 0 && statistics->span / statistics->entries < 64)
        proposals->add(proposals->host, text);
    return UST_OK;
}

/* counted */

/* There are no arguments, so a level needs no memory: it is null. */
static int32_t counted_make(const ust_level_type *type, const ust_arg *args, uint64_t arg_count, ust_level **level,
                            ust_error *error) {
    (void)type, (void)args;
    if (arg_count > 0) return fail(error, UST_BAD_ARGUMENT, "", "it takes no arguments", 0, 0);
    *level = 0;
    return UST_OK;
}

enum { START, COUNT, CRD, COUNTED_ARRAYS };

static const ust_array_spec COUNTED_SPECS[COUNTED_ARRAYS] = {
    {UST_TEXT("start"), {0, 0}, UST_OWN, UST_PER_PARENT, UST_I64, 8},
    {UST_TEXT("count"), {0, 0}, UST_OWN, UST_PER_PARENT, UST_U32, 8},
    {UST_TEXT("crd"), {0, 0}, UST_COORDINATES, UST_PER_POSITION, 0, 8},
};

static int32_t counted_describe(const ust_level *level, ust_description *description, ust_error *error) {
    (void)level, (void)error;
    static const ust_text text = UST_TEXT("counted");
    description->text = text;
    description->arrays = COUNTED_SPECS;
    description->array_count = COUNTED_ARRAYS;
    description->properties = UST_ORDERED | UST_UNIQUE;
    description->locate = UST_LOCATE_LOGARITHMIC;
    return UST_OK;
}

static int32_t counted_assemble(const ust_level *level, const ust_site *site, const ust_children *children,
                                ust_assembly *assembly, ust_error *error) {
    (void)level;
    const uint64_t parents = children->parents, stored = (uint64_t)children->offsets[parents];
    /* Room behind each segment: as many places as it has children, and two. */
    const uint64_t positions = site->room ? 2 * stored + 2 * parents : stored;
    if (positions > site->max_positions)
        return fail(error, UST_TOO_LARGE, "the number of positions", "there are more than memory is allowed for", 0, 0);
    int64_t *start = assembly->array(assembly->host, START, parents);
    int64_t *count = assembly->array(assembly->host, COUNT, parents);
    int64_t *crd = assembly->array(assembly->host, CRD, positions);
    if (!start || !count || !crd) return fail(error, UST_FAILED, "", "no memory", 0, 0);
    int64_t at = 0;
    for (uint64_t parent = 0; parent < parents; parent++) {
        start[parent] = at;
        for (int64_t child = children->offsets[parent]; child < children->offsets[parent + 1]; child++) {
            assembly->position[child] = at;
            crd[at++] = children->crd[child];
        }
        count[parent] = at - start[parent];
        if (site->room) at += count[parent] + 2;
    }
    assembly->positions = positions;
    return UST_OK;
}

static int32_t counted_check(const ust_level *level, const ust_site *site, const ust_array *arrays,
                             const ust_parents *parents, ust_reach *reach, ust_error *error) {
    (void)level;
    const ust_array start = arrays[START], count = arrays[COUNT], crd = arrays[CRD];
    if (start.length != parents->positions)
        return fail(error, UST_LENGTH, "start", "parents", (int64_t)start.length, 0);
    if (count.length != parents->positions)
        return fail(error, UST_LENGTH, "count", "parents", (int64_t)count.length, 0);
    int64_t end = 0;
    const int64_t length = (int64_t)crd.length;
    for (uint64_t i = 0; i < parents->interval_count; i++) {
        for (uint64_t parent = parents->intervals[i].lo; parent < parents->intervals[i].hi; parent++) {
            const int64_t first = start.data[parent], many = count.data[parent];
            if (first < end || first > length)
                return fail(error, UST_INVALID, "start", "segments ascend, and lie within crd", (int64_t)parent, first);
            if (many > length - first)
                return fail(error, UST_INVALID, "count", "segments lie within crd", (int64_t)parent, many);
            end = first + many;
            for (int64_t at = first; at < end; at++) {
                const int64_t here = crd.data[at];
                if (here < site->lower || here >= site->lower + (int64_t)site->size)
                    return fail(error, UST_INVALID, "crd", "a coordinate lies within the level", at, here);
                if (at > first && crd.data[at - 1] >= here)
                    return fail(error, UST_INVALID, "crd", "coordinates under one parent ascend", at, here);
            }
            if (many > 0) reach->add(reach->host, (uint64_t)first, (uint64_t)end);
        }
    }
    reach->positions = crd.length;
    reach->listed = 1;
    return UST_OK;
}

static int32_t counted_walk(const ust_level *level, ust_text *text, ust_error *error) {
    (void)level, (void)error;
    static const ust_text walk = UST_TEXT(
        "let first = start[parent];\n"
        "cursor position at from first to first + count[parent];\n"
        "step {\n"
        "    coordinate crd[at];\n"
        "    position at;\n"
        "}\n");
    *text = walk;
    return UST_OK;
}

static int32_t counted_locate(const ust_level *level, ust_text *text, ust_error *error) {
    (void)level, (void)error;
    static const ust_text locate = UST_TEXT(
        "let first = start[parent];\n"
        "let at, found = search(crd, first, first + count[parent], wanted);\n"
        "position at;\n"
        "found found;\n");
    *text = locate;
    return UST_OK;
}

/* Where the gap behind the segment of a parent ends. */
static int64_t counted_limit(const ust_changed_array *arrays, uint64_t parent) {
    const int64_t *start = arrays[START].data;
    int64_t limit = (int64_t)arrays[CRD].length;
    for (uint64_t other = 0; other < arrays[START].length; other++)
        if (other != parent && start[other] >= start[parent] && start[other] < limit) limit = start[other];
    return limit;
}

static int32_t counted_insert(const ust_level *level, const ust_site *site, const ust_changed_array *arrays,
                              uint64_t parent, int64_t crd, ust_change *change, ust_error *error) {
    (void)level, (void)site, (void)error;
    int64_t *stored = arrays[CRD].data, *count = arrays[COUNT].data;
    int64_t at = arrays[START].data[parent];
    const int64_t end = at + count[parent];
    /* Without a gap the host builds the arrays anew. */
    if (end >= counted_limit(arrays, parent)) return UST_OK;
    while (at < end && stored[at] < crd) at++;
    memmove(stored + at + 1, stored + at, (size_t)(end - at) * sizeof *stored);
    if (at < end) change->moved(change->host, (uint64_t)at, (uint64_t)end, (uint64_t)at + 1);
    stored[at] = crd;
    count[parent]++;
    change->pos = (uint64_t)at;
    change->positions = arrays[CRD].length;
    change->done = 1;
    return UST_OK;
}

static int32_t counted_remove(const ust_level *level, const ust_site *site, const ust_changed_array *arrays,
                              uint64_t parent, uint64_t pos, ust_change *change, ust_error *error) {
    (void)level, (void)site, (void)error;
    int64_t *stored = arrays[CRD].data;
    const uint64_t end = (uint64_t)(arrays[START].data[parent] + arrays[COUNT].data[parent]--);
    memmove(stored + pos, stored + pos + 1, (end - pos - 1) * sizeof *stored);
    if (pos + 1 < end) change->moved(change->host, pos + 1, end, pos);
    change->pos = pos;
    change->positions = arrays[CRD].length;
    change->freed.lo = end - 1;
    change->freed.hi = end;
    change->done = 1;
    return UST_OK;
}

/* The table */

static const ust_text GAP_SAMPLES[] = {UST_TEXT("gap(3)")};
static const ust_text COUNTED_SAMPLES[] = {UST_TEXT("counted")};

static const ust_level_type LEVELS[] = {
    {
        .name = UST_TEXT("gap"),
        .summary = UST_TEXT("how many coordinates are left out before each, in a byte"),
        .samples = GAP_SAMPLES,
        .sample_count = 1,
        .make = gap_make,
        .describe = gap_describe,
        .assemble = gap_assemble,
        .check = gap_check,
        .walk = gap_walk,
        .candidates = gap_candidates,
        .drop = gap_drop,
    },
    {
        .name = UST_TEXT("counted"),
        .summary = UST_TEXT("where the coordinates of each parent begin, and how many there are"),
        .samples = COUNTED_SAMPLES,
        .sample_count = 1,
        .make = counted_make,
        .describe = counted_describe,
        .assemble = counted_assemble,
        .check = counted_check,
        .walk = counted_walk,
        .locate = counted_locate,
        .insert = counted_insert,
        .remove = counted_remove,
    },
};

static const ust_plugin_table TABLE = {UST_PLUGIN_ABI, sizeof LEVELS / sizeof *LEVELS, LEVELS};

UST_EXPORT const ust_plugin_table *ust_plugin(void) { return &TABLE; }
