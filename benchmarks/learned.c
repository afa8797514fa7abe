/* Sweeps of dynamic programming for two links that hang by a hand, written by hand: one thread, blocks of 64 lanes.

Parameters: a, b, c, g1, g2 (inertias and moments of weight), L1, L2, stop, bar x, y, radius, soft, limit. Axes: theta1
closes on itself, the others do not. Both functions go through the slices [first, last) of theta1. */

#include <math.h>
#include <stdint.h>

#define LANES 64

typedef struct {
    float q0[LANES], q1[LANES], v0[LANES], v1[LANES], u[LANES], hit[LANES], a0[LANES], a1[LANES];
} Block;

typedef struct {
    float a, b, c, g1, g2, L1, L2, stop, x, y, radius, soft, limit;
} Robot;

typedef struct {
    int64_t n[4];
    float lower[4], spacing[4];
} Grid;

static inline void sincos_fast(float x, float *s, float *c) {
    float k = rintf(x * 0.63661977f);
    float y = ((x - k * 1.5703125f) - k * 4.837512969970703e-4f) - k * 7.549789954891882e-8f, z = y * y;
    float sine = y + y * z * (-1.6666654611e-1f + z * (8.3321608736e-3f + z * -1.9515295891e-4f));
    float cosine = 1.0f - 0.5f * z + z * z * (4.166664568e-2f + z * (-1.388731625e-3f + z * 2.443315712e-5f));
    int32_t quadrant = (int32_t)k;
    float one = quadrant & 1 ? cosine : sine, two = quadrant & 1 ? sine : cosine;
    *s = quadrant & 2 ? -one : one;
    *c = (quadrant + 1) & 2 ? -two : two;
}

/* steps of all lanes, each until its hand is within the radius; leap: positions and rates in the middle of a step */
static void move(Block *w, const Robot *r, float h, int64_t steps, int leap) {
    float ahead = leap ? 0.5f * h : 0.0f, rest = leap ? 0.5f * h : h, square = r->radius * r->radius;
    for (int64_t step = 0; step < steps; step++) {
        float now = ((float)step + (leap ? 0.5f : 0.0f)) * h;
        for (int l = 0; l < LANES; l++) {
            float w0 = w->v0[l], w1 = w->v1[l], hit = w->hit[l];
            float q0 = w->q0[l] + ahead * w0, q1 = w->q1[l] + ahead * w1;
            float v0 = w0 + ahead * w->a0[l], v1 = w1 + ahead * w->a1[l];
            float s0, c0, s1, c1;
            sincos_fast(q0, &s0, &c0);
            sincos_fast(q1, &s1, &c1);
            float s01 = s0 * c1 + c0 * s1, c01 = c0 * c1 - s0 * s1;
            float m01 = r->b + r->c * c1, m00 = r->a + m01 + r->c * c1, bent = r->g2 * s01, turn = r->c * s1;
            float f0 = turn * v1 * (2 * v0 + v1) - r->g1 * s0 - bent, f1 = w->u[l] - turn * v0 * v0 - bent;
            float inverse = 1.0f / (m00 * r->b - m01 * m01);
            float a0 = (r->b * f0 - m01 * f1) * inverse, a1 = (m00 * f1 - m01 * f0) * inverse;
            float dx = r->L1 * s0 + r->L2 * s01 - r->x, dy = -r->L1 * c0 - r->L2 * c01 - r->y;
            int there = (dx * dx + dy * dy <= square) & (hit < 0), stay = hit >= 0;
            float x0 = w0 + h * a0, x1 = w1 + h * a1, y0 = q0 + rest * x0, y1 = q1 + rest * x1;
            int over = ((y1 > r->stop) & (x1 > 0)) | ((y1 < -r->stop) & (x1 < 0));
            float lost = over ? x1 : 0.0f;
            x0 += lost * m01 / m00;
            x1 -= lost;
            y1 = fminf(fmaxf(y1, -r->stop), r->stop);
            w->q0[l] = stay ? w->q0[l] : there ? q0 : y0;
            w->q1[l] = stay ? w->q1[l] : there ? q1 : y1;
            w->v0[l] = stay ? w0 : there ? v0 : x0;
            w->v1[l] = stay ? w1 : there ? v1 : x1;
            w->a0[l] = a0;
            w->a1[l] = a1;
            w->hit[l] = there ? now : hit;
        }
    }
}

static float kinetic(const Robot *r, float q1, float v0, float v1) {
    float cosine = r->c * cosf(q1);
    return 0.5f * ((r->a + r->b + 2 * cosine) * v0 * v0 + r->b * v1 * v1) + (r->b + cosine) * v0 * v1;
}

/* of all lanes the state below, and shares of the way to the next */
static void locate(const Block *w, const Grid *g, int32_t at[4][LANES], float share[4][LANES]) {
    const float *x[4] = {w->q0, w->q1, w->v0, w->v1};
    for (int k = 0; k < 4; k++) {
        float lower = g->lower[k], per = 1.0f / g->spacing[k], size = (float)g->n[k];
        int32_t last = (int32_t)g->n[k] - (k ? 2 : 1);
        for (int l = 0; l < LANES; l++) {
            float p = (x[k][l] - lower) * per;
            p = k ? fminf(fmaxf(p, 0.0f), size - 1.0f) : p - size * floorf(p / size);
            int32_t low = (int32_t)p;
            low = low < last ? low : last;
            at[k][l] = low;
            share[k][l] = p - (float)low;
        }
    }
}

static void begin(Block *w, const Grid *g, int64_t i, int64_t j, int64_t first) {
    for (int l = 0; l < LANES; l++) {
        int64_t state = first + l < g->n[2] * g->n[3] ? first + l : g->n[2] * g->n[3] - 1;
        w->q0[l] = g->lower[0] + (float)i * g->spacing[0];
        w->q1[l] = g->lower[1] + (float)j * g->spacing[1];
        w->v0[l] = g->lower[2] + (float)(state / g->n[3]) * g->spacing[2];
        w->v1[l] = g->lower[3] + (float)(state % g->n[3]) * g->spacing[3];
        w->hit[l] = -1.0f;
        w->a0[l] = w->a1[l] = 0.0f;
    }
}

static float drawn(uint64_t seed, uint64_t sweep, uint64_t state) {
    uint64_t x = state + (seed * 0x9E3779B97F4A7C15u ^ sweep << 40);
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    x ^= x >> 31;
    return (float)(int32_t)(x >> 40) * (2.0f / 16777216.0f) - 1.0f;
}

/* [yang2016, 7.2]: the input that is kept and a random one, cost of the nearest state where they lead */
void thesis(const Robot *r, const Grid *g, const float *V, float *out, float *kept, int64_t first, int64_t last,
            int64_t sweep, float h, int64_t steps) {
    int64_t size = g->n[2] * g->n[3], n1 = g->n[1];
    static Block w;
    static int32_t at[4][LANES];
    static float share[4][LANES];
    for (int64_t i = first; i < last; i++)
        for (int64_t j = 0; j < n1; j++) {
            float q0 = g->lower[0] + (float)i * g->spacing[0], q1 = g->lower[1] + (float)j * g->spacing[1];
            float dx = r->L1 * sinf(q0) + r->L2 * sinf(q0 + q1) - r->x;
            float dy = -r->L1 * cosf(q0) - r->L2 * cosf(q0 + q1) - r->y, cost = dx * dx + dy * dy;
            for (int64_t from = 0; from < size; from += LANES) {
                int64_t base = (i * n1 + j) * size + from, count = size - from < LANES ? size - from : LANES;
                for (int k = 0; k < 2; k++) {
                    begin(&w, g, i, j, from);
                    for (int64_t l = 0; l < LANES; l++)
                        w.u[l] = k ? r->limit * drawn(0, sweep, base + l) : l < count ? kept[base + l] : 0.0f;
                    move(&w, r, h, steps, 0);
                    locate(&w, g, at, share);
                    for (int64_t l = 0; l < count; l++) {
                        int64_t a[4];
                        for (int d = 0; d < 4; d++) a[d] = at[d][l] + (share[d][l] > 0.5f);
                        a[0] = a[0] == g->n[0] ? 0 : a[0];
                        float value = w.hit[l] < 0 ? cost + V[((a[0] * n1 + a[1]) * g->n[2] + a[2]) * g->n[3] + a[3]]
                                                   : w.hit[l] > 0 ? cost : 0.0f;
                        if (k == 0 || value < out[base + l]) {
                            out[base + l] = value;
                            kept[base + l] = w.u[l];
                        }
                    }
                }
            }
        }
}

/* the value between sixteen states */
static inline float between(const float *V, const Grid *g, const int32_t at[4][LANES], const float share[4][LANES], int64_t l) {
    int64_t n1 = g->n[1], n2 = g->n[2], n3 = g->n[3], a0 = at[0][l], next = a0 + 1 == g->n[0] ? 0 : a0 + 1;
    float value = 0.0f;
    for (int d = 0; d < 4; d++) {
        int64_t i0 = d & 2 ? next : a0, i1 = at[1][l] + (d & 1);
        const float *v = V + ((i0 * n1 + i1) * n2 + at[2][l]) * n3 + at[3][l];
        float low = v[0] + share[3][l] * (v[1] - v[0]);
        float high = v[n3] + share[3][l] * (v[n3 + 1] - v[n3]);
        value += (d & 2 ? share[0][l] : 1 - share[0][l]) * (d & 1 ? share[1][l] : 1 - share[1][l]) *
                 (low + share[2][l] * (high - low));
    }
    return value;
}

/* the discounted value of reaching the bar, slice after slice of theta1 in place, after a negative input and after a
positive one; a reversal leaves a share of it; room is for one slice of both */
void reach(const Robot *r, const Grid *g, float *V, float *room, int64_t first, int64_t last, float h, int64_t steps,
           float patience, float left) {
    int64_t n1 = g->n[1], n2 = g->n[2], n3 = g->n[3], size = n2 * n3, all = g->n[0] * n1 * size;
    float *minus = room, *plus = room + n1 * size;
    static Block w;
    static int32_t at[4][LANES];
    static float share[4][LANES];
    float later = expf(-h * (float)steps / patience);
    for (int64_t i = first; i < last; i++) {
        for (int64_t j = 0; j < n1; j++)
            for (int64_t from = 0; from < size; from += LANES) {
                int64_t base = j * size + from, count = size - from < LANES ? size - from : LANES;
                for (int k = -1; k < 2; k++) {
                    begin(&w, g, i, j, from);
                    for (int l = 0; l < LANES; l++) w.u[l] = (float)k * r->limit;
                    move(&w, r, h, steps, 1);
                    locate(&w, g, at, share);
                    for (int64_t l = 0; l < count; l++) {
                        float one = 0.0f, two = 0.0f;
                        float e2 = (w.v0[l] - g->lower[2]) / g->spacing[2], e3 = (w.v1[l] - g->lower[3]) / g->spacing[3];
                        if (w.hit[l] >= 0)
                            one = two = expf(-w.hit[l] / patience - kinetic(r, w.q1[l], w.v0[l], w.v1[l]) / r->soft);
                        else if (e2 >= 0 && e3 >= 0 && e2 <= (float)(n2 - 1) && e3 <= (float)(n3 - 1)) {
                            one = later * between(k > 0 ? V + all : V, g, at, share, l);
                            two = k == 0 ? later * between(V + all, g, at, share, l) : one;
                        }
                        one *= k > 0 ? left : 1.0f;
                        two *= k < 0 ? left : 1.0f;
                        if (k < 0 || one > minus[base + l]) minus[base + l] = one;
                        if (k < 0 || two > plus[base + l]) plus[base + l] = two;
                    }
                }
            }
        for (int64_t k = 0; k < n1 * size; k++) {
            V[i * n1 * size + k] = minus[k];
            V[all + i * n1 * size + k] = plus[k];
        }
    }
}
