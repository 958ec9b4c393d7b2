/* R-ed-UCB as a plain C loop with the recurrences of the paper's appendix: the yardstick of speed.py.
   Compiled at run time with -O3 -march=native. Noise: xoshiro256++ and the polar method. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

typedef struct { uint64_t s[4]; double spare; int has_spare; } generator;

static inline uint64_t rotate(uint64_t x, int k) { return (x << k) | (x >> (64 - k)); }

static inline uint64_t next(generator *g) {
    uint64_t *s = g->s, result = rotate(s[0] + s[3], 23) + s[0], t = s[1] << 17;
    s[2] ^= s[0]; s[3] ^= s[1]; s[1] ^= s[2]; s[0] ^= s[3]; s[2] ^= t; s[3] = rotate(s[3], 45);
    return result;
}

static inline double uniform(generator *g) { return (next(g) >> 11) * 0x1.0p-53; }

static double normal(generator *g) {
    if (g->has_spare) { g->has_spare = 0; return g->spare; }
    double u, v, q;
    do { u = 2 * uniform(g) - 1; v = 2 * uniform(g) - 1; q = u * u + v * v; } while (q >= 1 || q == 0);
    double m = sqrt(-2 * log(q) / q);
    g->spare = v * m; g->has_spare = 1;
    return u * m;
}

typedef struct { double a, b, c, d, inverse_h, width; int64_t n, h; double *r; } arm_state;

/* means: K rows of T; history: room for K (T + 1) numbers; returns the sum of the means of the pulls. */
double red_ucb(int K, int64_t T, const double *means, double eps, double sigma, double alpha, uint64_t seed,
               double *history, int64_t *pulls) {
    generator g = {{seed * 0x9E3779B97F4A7C15ull + 1, seed ^ 0xD1B54A32D192ED03ull, seed + 77, 0x12345678ABCDEFull}, 0, 0};
    for (int i = 0; i < 20; i++) next(&g);
    arm_state *arms = calloc(K, sizeof *arms);
    for (int i = 0; i < K; i++) arms[i].r = history + (int64_t)i * (T + 1);
    double total = 0;
    for (int64_t t = 1; t <= T; t++) {
        double root = sqrt(10 * alpha * log((double)t)), best = -INFINITY;
        int chosen = 0;
        for (int i = 0; i < K; i++) {
            arm_state *x = &arms[i];
            double index = INFINITY;
            if (x->h > 0)
                index = (x->a + (t * (x->a - x->b) - (x->c - x->d)) * x->inverse_h) * x->inverse_h
                        + x->width * (t - x->n + x->h - 1) * root;
            if (index > best) { best = index; chosen = i; }
        }
        arm_state *x = &arms[chosen];
        double mean = means[(int64_t)chosen * T + x->n], reward = mean + sigma * normal(&g), *r = x->r;
        total += mean;
        int64_t n = ++x->n, h = (int64_t)(eps * n + 1e-12);
        r[n] = reward;
        if (h > 0) {
            if (h == x->h) {
                x->a += reward - r[n - h];
                x->b += r[n - h] - r[n - 2 * h];
                x->c += n * reward - (n - h) * r[n - h];
                x->d += n * r[n - h] - (n - h) * r[n - 2 * h];
            } else {
                x->a += reward;
                x->b += r[n - 2 * h + 1];
                x->c += n * reward;
                x->d += (n - h) * r[n - 2 * h + 1] + x->b;
            }
            x->inverse_h = 1.0 / h;
            x->width = sigma * x->inverse_h * sqrt(x->inverse_h);
        }
        x->h = h;
    }
    for (int i = 0; i < K; i++) pulls[i] = arms[i].n;
    free(arms);
    return total;
}
