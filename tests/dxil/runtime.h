/* What shaders that translate.py turned into C need: buffers, group memory, barriers, waves, arithmetic.
 *
 * Groups run one after the other, and so do the threads of a group: as fibers if they wait for each other, each of
 * which runs until its next barrier or wave operation. So runs are deterministic. The caller chooses whether groups
 * and threads take turns upwards or downwards, and which byte memory holds that nobody has written: a shader without
 * races and undefined values gives the same bytes either way.
 *
 * Other mistakes are reported: the first of a run is kept in `problem`.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

/* The types of DXIL */
typedef bool i1;
typedef uint8_t i8;
typedef uint16_t i16;
typedef uint32_t i32;
typedef uint64_t i64;
typedef _Float16 half;

enum { STACK = 1 << 18, CLASSES = 3, SLOTS = 64, MOST_LANES = 128 };
enum { SRV, UAV, CBV };
enum { RUNNING, AT_BARRIER, IN_WAVE, DONE };

/* stride 1: addressed by the byte. `written`, if not NULL, says of each byte whether it has been written. */
typedef struct { char *bytes, *written; uint64_t size; uint32_t stride; } buffer;
typedef struct { int kind, slot; uint32_t stride; } resource;
typedef struct { uint32_t number, in_group[3], state, site; uint64_t brought; ucontext_t start; jmp_buf at; bool started; } thread;
typedef struct { uint32_t threads[3], sites; const resource *resources; size_t count; void (*forget)(void), (*run)(void); } shader;
typedef struct { bool is_active[MOST_LANES]; uint64_t brought[MOST_LANES]; } wave; /* what its lanes met with */

static buffer buffers[CLASSES][SLOTS];
static uint32_t group[3], threads[3], lanes;
static thread *me;
static wave *waves;
static char problem[256];
static jmp_buf scheduler;

static int undefined; /* the byte of what nobody has written */
#define UNDEFINED(T) ({ T undefined_value; memset(&undefined_value, undefined, sizeof(T)); undefined_value; })

static void report(const char *format, ...) {
    va_list values;
    if (problem[0]) return;
    int n = snprintf(problem, sizeof problem, "group %u,%u,%u thread %u: ", group[0], group[1], group[2], me ? me->number : 0);
    va_start(values, format);
    vsnprintf(problem + n, sizeof problem - n, format, values);
    va_end(values);
}

/* Buffers. `size` bytes, element after element for the bits of `mask`. */

static char *place(buffer *b, uint64_t offset, uint64_t size, const char *what) {
    if (offset + size <= b->size) return b->bytes + offset;
    report("%s of bytes %llu to %llu of a buffer of %llu", what, (unsigned long long)offset, (unsigned long long)(offset + size), (unsigned long long)b->size);
    return NULL;
}

static uint64_t position(buffer *b, uint32_t index, uint32_t offset) {
    if (b->stride == 1) return index;
    if (offset >= b->stride) report("offset %u in elements of %u bytes", offset, b->stride);
    return (uint64_t)index * b->stride + offset;
}

static void read_bytes(void *into, size_t size, buffer *b, uint64_t offset, const char *what) {
    char *from = place(b, offset, size, what);
    if (!from) return;
    if (b->written && memchr(b->written + offset, 0, size))
        report("%s of bytes %llu to %llu, which nobody has written", what, (unsigned long long)offset, (unsigned long long)(offset + size));
    memcpy(into, from, size);
}

static void load(void *into, size_t size, buffer *b, uint32_t index, uint32_t offset, uint32_t mask) {
    memset(into, undefined, 4 * size);
    for (int i = 0; i < 4; i++)
        if (mask >> i & 1) read_bytes((char *)into + i * size, size, b, position(b, index, offset) + i * size, "load");
}

static void store(const void *values, size_t size, buffer *b, uint32_t index, uint32_t offset, uint32_t mask) {
    for (int i = 0; i < 4; i++)
        if (mask >> i & 1) {
            uint64_t at = position(b, index, offset) + i * size;
            char *to = place(b, at, size, "store");
            if (!to) return;
            memcpy(to, (const char *)values + i * size, size);
            if (b->written) memset(b->written + at, 1, size);
        }
}

static void load_constants(void *into, buffer *b, uint32_t row) {
    memset(into, 0, 16);
    read_bytes(into, 16, b, (uint64_t)row * 16, "load of constants");
}

/* Of and, or, xor (1 to 3), only bytes count that they may change: shaders write parts of words by them. */
static char *atomic_place(buffer *b, uint32_t index, uint32_t offset, size_t size, uint32_t operation, uint64_t value) {
    uint64_t at = position(b, index, offset), old;
    if (operation < 1 || operation > 3) read_bytes(&old, size, b, at, "atomic operation");
    char *found = place(b, at, size, "atomic operation");
    for (size_t i = 0; found && b->written && i < size; i++)
        if (operation < 1 || operation > 3 || (uint8_t)(value >> 8 * i) != (operation == 1 ? 0xFF : 0)) b->written[at + i] = 1;
    return found;
}

#define CHANGE(T, S)                                                                                            \
    static T change_##T(char *at, uint32_t operation, T value) {                                                \
        T old = at ? *(T *)at : 0, values[] = {                                                                 \
            old + value, old & value, old | value, old ^ value, (S)old < (S)value ? old : value,                \
            (S)old > (S)value ? old : value, old < value ? old : value, old > value ? old : value, value, old - value}; \
        if (at) *(T *)at = values[operation];                                                                   \
        return old;                                                                                             \
    }                                                                                                           \
    static T exchange_##T(char *at, T compared, T value) {                                                      \
        T old = at ? *(T *)at : 0;                                                                              \
        if (at && old == compared) *(T *)at = value;                                                            \
        return old;                                                                                             \
    }
CHANGE(i32, int32_t)
CHANGE(i64, int64_t)

/* Arrays of a thread or a group: an element beyond the end has no place, and only using it is a mistake. */

static char *element(const char *array, uint64_t index, uint64_t count, uint64_t size) {
    return array && index < count ? (char *)array + index * size : NULL;
}

static char *used(char *at) {
    static char nowhere[16];
    if (!at) report("an element beyond the end of an array");
    return at ? at : nowhere;
}

/* Arithmetic that C leaves undefined, or has no function for. */

#define BITS(T, U)                                                                                              \
    static inline U bits_of_##T(T x) { U y; memcpy(&y, &x, sizeof y); return y; }                               \
    static inline T T##_of(U x) { T y; memcpy(&y, &x, sizeof y); return y; }
BITS(i1, i8) BITS(i16, i16) BITS(i32, i32) BITS(i64, i64) BITS(half, i16) BITS(float, i32) BITS(double, i64)

/* As they come into sums and products; kept from what the C compiler knows of them and may do with them; a * b + c as
 * DXIL defines it, with one or two roundings, of which LOOSE takes the one that others do not. */
static inline float half_in(half x) { return x; }
static inline float float_in(float x) { return x; }
static inline double double_in(double x) { return x; }
#ifdef LOOSE
#define KEPT(T, IN) static inline IN kept_##T(T x) { IN y = x; __asm__ volatile("" : "+m"(y)); return y; }
#define MAD(T, FMA) static inline T mad_##T(T a, T b, T c) { return FMA(a, b, c); }
#else
#define KEPT(T, IN) static inline IN kept_##T(T x) { return x; }
#define MAD(T, FMA) static inline T mad_##T(T a, T b, T c) { T product = a * b; return product + c; }
#endif
KEPT(half, float) KEPT(float, float) KEPT(double, double)
MAD(half, (half)fmaf) MAD(float, fmaf) MAD(double, fma)
#define fast_mad_half mad_half
#define fast_mad_float(a, b, c) ((a) * (b) + (c))
#define fast_mad_double(a, b, c) ((a) * (b) + (c))
static inline i16 mad_i16(i16 a, i16 b, i16 c) { return a * b + c; }

static inline uint64_t divisor(uint64_t x) { if (!x) report("division by zero"); return x ? x : 1; }

static inline int64_t whole(double x, int bits, bool is_signed) { /* saturates, as Direct3D does */
    double low = is_signed ? -ldexp(1, bits - 1) : 0, high = ldexp(1, is_signed ? bits - 1 : bits);
    if (isnan(x)) return 0;
    if (x < low) return is_signed ? INT64_MIN >> (64 - bits) : 0;
    if (x >= high) return (int64_t)((is_signed ? (uint64_t)INT64_MAX : UINT64_MAX) >> (64 - bits));
    return is_signed ? (int64_t)x : (int64_t)(uint64_t)x;
}

static inline i32 count_bits(uint64_t x) { return (i32)__builtin_popcountll(x); }
static inline i32 first_low(uint64_t x) { return x ? (i32)__builtin_ctzll(x) : UINT32_MAX; }
static inline i32 first_high(uint64_t x, int bits) { /* counted from the top, as in DXIL */
    return x ? (i32)(__builtin_clzll(x) - (64 - bits)) : UINT32_MAX;
}
static inline i32 reverse_bits(i32 x) {
    i32 y = 0;
    for (int i = 0; i < 32; i++) y |= (x >> i & 1) << (31 - i);
    return y;
}
static inline i32 dot_bytes(i32 sum, i32 a, i32 b, bool is_signed) {
    for (int i = 0; i < 32; i += 8)
        sum += (i32)(is_signed ? (int8_t)(a >> i) * (int8_t)(b >> i) : (uint8_t)(a >> i) * (uint8_t)(b >> i));
    return sum;
}

/* Waves. Lanes that come to the same operation meet there, each with the bits of a value. */

static void wait_for_others(uint32_t state, uint32_t site) {
    me->state = state, me->site = site;
    if (!_setjmp(me->at)) _longjmp(scheduler, 1);
}
static void barrier(uint32_t site) { wait_for_others(AT_BARRIER, site); }
static void meet(uint32_t site, uint64_t bits) { me->brought = bits; wait_for_others(IN_WAVE, site); }

static uint32_t lane_of(const thread *t) { return t->number % lanes; }
static wave *met(void) { return &waves[me->number / lanes]; }
static bool is_active(uint32_t lane) { return lane < lanes && met()->is_active[lane]; }
static uint32_t first_lane(void) {
    for (uint32_t k = 0;; k++)
        if (is_active(k)) return k; /* `me` is */
}
static uint64_t wave_lane(uint32_t lane) {
    if (is_active(lane)) return met()->brought[lane];
    report("a read of lane %u, which is not active", lane);
    return 0;
}
static bool wave_all(uint64_t bits) {
    for (uint32_t k = 0; k < lanes; k++)
        if (is_active(k) && met()->brought[k] != bits) return false;
    return true;
}
static uint64_t wave_bit(uint32_t operation) { /* and, or, xor */
    uint64_t all = operation == 0 ? UINT64_MAX : 0;
    for (uint32_t k = 0; k < lanes; k++)
        if (is_active(k)) {
            uint64_t one = met()->brought[k];
            all = operation == 0 ? all & one : operation == 1 ? all | one : all ^ one;
        }
    return all;
}
static i32 wave_count(uint32_t end) {
    i32 count = 0;
    for (uint32_t k = 0; k < lanes && k < end; k++) count += is_active(k) && met()->brought[k];
    return count;
}
static i32 wave_ballot(uint32_t word) {
    i32 bits = 0;
    for (uint32_t k = 0; k < 32; k++) bits |= (i32)(is_active(32 * word + k) && met()->brought[32 * word + k]) << k;
    return bits;
}
/* Sum, product, least or greatest of what active lanes before `end` brought. */
#define WAVE(T, S)                                                                                              \
    static T wave_##T(uint32_t end, uint32_t operation, uint32_t is_unsigned) {                                 \
        bool is_first = true;                                                                                   \
        T all = operation == 1;                                                                                 \
        for (uint32_t k = 0; k < lanes && k < end; k++) {                                                       \
            if (!is_active(k)) continue;                                                                        \
            T one = T##_of(met()->brought[k]);                                                                  \
            bool is_less = is_unsigned ? one < all : (S)one < (S)all;                                           \
            if (operation == 0) all += one;                                                                     \
            else if (operation == 1) all *= one;                                                                \
            else if (is_first || is_less == (operation == 2)) all = one;                                        \
            is_first = false;                                                                                   \
        }                                                                                                       \
        return all;                                                                                             \
    }
WAVE(i16, int16_t) WAVE(i32, int32_t) WAVE(i64, int64_t) WAVE(half, float) WAVE(float, float) WAVE(double, double)

/* Groups. */

static const shader *current;

static void fiber(void) {
    current->run();
    me->state = DONE, me->site = 0;
    if (current->sites) _longjmp(scheduler, 1);
}

/* Runs thread `me` until it waits or ends. Contexts only give threads stacks: changing them is a system call. */
static void resume(void) {
    me->state = RUNNING;
    if (!current->sites) return fiber();
    if (_setjmp(scheduler)) return;
    if (me->started) _longjmp(me->at, 1);
    me->started = true;
    setcontext(&me->start);
}

/* Whether lanes of a wave can go on. Those that wait at the first place in the text do, so that lanes that took
 * different branches are together again behind these. */
static bool let_meet(thread *all, uint32_t count, uint32_t first) {
    uint32_t site = UINT32_MAX, end = first + lanes < count ? first + lanes : count;
    wave *w = &waves[first / lanes];
    for (uint32_t n = first; n < end; n++)
        if (all[n].state == IN_WAVE && all[n].site < site) site = all[n].site;
    memset(w, 0, sizeof *w);
    for (uint32_t n = first; n < end; n++)
        if (all[n].state == IN_WAVE && all[n].site == site) {
            w->is_active[n - first] = true, w->brought[n - first] = all[n].brought;
            all[n].state = RUNNING;
        }
    return site < UINT32_MAX;
}

static void run_group(thread *all, uint32_t count, char *stacks, bool downwards) {
    for (uint32_t n = 0; n < count; n++) {
        thread *t = all + n;
        *t = (thread){.number = n, .in_group = {n % threads[0], n / threads[0] % threads[1], n / threads[0] / threads[1]}};
        if (current->sites) {
            getcontext(&t->start);
            t->start.uc_stack.ss_sp = stacks + (size_t)n * STACK;
            t->start.uc_stack.ss_size = STACK;
            makecontext(&t->start, fiber, 0);
        }
    }
    for (;;) { /* ends: each turn, threads get to their next barrier or their end */
        bool is_waved = true;
        while (is_waved && !problem[0]) {
            for (uint32_t k = 0; k < count && !problem[0]; k++) {
                me = all + (downwards ? count - 1 - k : k);
                if (me->state == RUNNING) resume();
            }
            is_waved = false;
            for (uint32_t first = 0; current->sites && first < count; first += lanes) is_waved |= let_meet(all, count, first);
        }
        for (uint32_t n = 1; n < count && !problem[0]; n++) {
            me = all + n;
            if (me->state != all->state || me->site != all->site) report("not at the barrier where thread 0 is");
        }
        if (problem[0] || all->state == DONE) return;
        for (uint32_t n = 0; n < count; n++) all[n].state = RUNNING;
    }
}

/* Runs a shader over groups[0] x groups[1] x groups[2] groups, with waves of `width` lanes. `given` are the constants,
 * `reads` buffers t0, t1, ... and buffers u0, u1, ... Returns "" or the first problem. */
static const char *run_shader(const shader *s, const buffer *given, uint32_t count, uint32_t reads, const uint32_t *groups, uint32_t width, bool downwards, int byte) {
    current = s, lanes = width, undefined = byte, problem[0] = 0, me = NULL;
    memcpy(threads, s->threads, sizeof threads);
    memset(buffers, 0, sizeof buffers);
    for (uint32_t k = 0; k < count; k++)
        buffers[k == 0 ? CBV : k <= reads ? SRV : UAV][k == 0 ? 0 : k <= reads ? k - 1 : k - 1 - reads] = given[k];
    for (size_t k = 0; k < s->count; k++) buffers[s->resources[k].kind][s->resources[k].slot].stride = s->resources[k].stride;
    uint32_t of_group = threads[0] * threads[1] * threads[2];
    thread *all = calloc(of_group, sizeof *all);
    waves = calloc(of_group / lanes + 1, sizeof *waves);
    char *stacks = s->sites ? malloc((size_t)of_group * STACK) : NULL;
    uint64_t end = (uint64_t)groups[0] * groups[1] * groups[2];
    for (uint64_t k = 0; k < end && !problem[0]; k++) {
        uint64_t n = downwards ? end - 1 - k : k;
        group[0] = n % groups[0], group[1] = n / groups[0] % groups[1], group[2] = n / groups[0] / groups[1];
        s->forget();
        run_group(all, of_group, stacks, downwards);
    }
    free(all), free(waves), free(stacks);
    return problem;
}
