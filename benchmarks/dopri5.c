/* The passive two-link pendulum by Dormand and Prince's 5(4) pair, as one would write it by hand for this one machine.
 *
 * It is the yardstick: sizes are constants, the equations of motion are in closed form, everything inlines. Stages,
 * error norm, step control and dense output follow Hairer, Norsett and Wanner, Solving Ordinary Differential
 * Equations I, sections II.4 to II.6 and IV.2.
 */
#include <math.h>

enum { N = 4 };

/* What the masses and lengths come down to; filled once per run. */
typedef struct {
    double inertia_upper;  /* I1 + m1 r1^2 + m2 L1^2 */
    double inertia_lower;  /* I2 + m2 r2^2 */
    double coupling;       /* m2 L1 r2 */
    double weight_upper;   /* (m1 r1 + m2 L1) g */
    double weight_lower;   /* m2 r2 g */
} Pendulum;

/* Rates of (theta1, theta2, omega1, omega2); theta2 is relative to the upper link. */
static inline void flow(const Pendulum *pendulum, const double *restrict y, double *restrict rate)
{
    double s1 = sin(y[0]), s2 = sin(y[1]), c2 = cos(y[1]);
    double w1 = y[2], w2 = y[3];
    double b = pendulum->coupling, m22 = pendulum->inertia_lower;
    double bc = b * c2, bs = b * s2;
    double m12 = m22 + bc, m11 = pendulum->inertia_upper + m12 + bc;
    double lower = pendulum->weight_lower * sin(y[0] + y[1]);
    double f1 = bs * w2 * (w1 + w1 + w2) - pendulum->weight_upper * s1 - lower;
    double f2 = -bs * w1 * w1 - lower;
    double inverse = 1.0 / (m11 * m22 - m12 * m12);
    rate[0] = w1;
    rate[1] = w2;
    rate[2] = (m22 * f1 - m12 * f2) * inverse;
    rate[3] = (m11 * f2 - m12 * f1) * inverse;
}

/* A first step from the sizes of the state, its rate and the change of that rate. */
static double first_step(const Pendulum *pendulum, const double *y, const double *k1, double rtol, double atol)
{
    double size = 0, speed = 0, bend = 0, probe[N], k[N], scale[N];
    for (int i = 0; i < N; i++) {
        scale[i] = atol + rtol * fabs(y[i]);
        size += (y[i] / scale[i]) * (y[i] / scale[i]);
        speed += (k1[i] / scale[i]) * (k1[i] / scale[i]);
    }
    double h = size < 1e-10 || speed < 1e-10 ? 1e-6 : 0.01 * sqrt(size / speed);
    for (int i = 0; i < N; i++) probe[i] = y[i] + h * k1[i];
    flow(pendulum, probe, k);
    for (int i = 0; i < N; i++) bend += ((k[i] - k1[i]) / scale[i]) * ((k[i] - k1[i]) / scale[i]);
    double largest = fmax(sqrt(speed / N), sqrt(bend / N) / h);
    return fmin(100.0 * h, largest > 1e-15 ? pow(0.01 / largest, 0.2) : fmax(1e-6, 1e-3 * h));
}

/* Integrate from 0 to count * spacing, writing count + 1 rows of the state; returns 0, or 1 where no step is small
 * enough. parameters: m1, m2, L1, L2, r1, r2, I1, I2, g. tally: steps accepted, steps rejected. */
int simulate(const double *parameters, const double *start, double rtol, double atol, double spacing, long count,
             double *restrict out, long *tally)
{
    const double m1 = parameters[0], m2 = parameters[1], L1 = parameters[2], r1 = parameters[4], r2 = parameters[5];
    const double I1 = parameters[6], I2 = parameters[7], g = parameters[8];
    const Pendulum pendulum = {
        I1 + m1 * r1 * r1 + m2 * L1 * L1, I2 + m2 * r2 * r2, m2 * L1 * r2, (m1 * r1 + m2 * L1) * g, m2 * r2 * g,
    };
    const double end = spacing * count, beta = 0.04, alpha = 0.2 - 0.75 * beta;
    double y[N], z[N], k1[N], k2[N], k3[N], k4[N], k5[N], k6[N], k7[N];
    double t = 0.0, old = log(1e-4);
    long next = 1, accepted = 0, rejected = 0;
    int grow = 1;

    for (int i = 0; i < N; i++) out[i] = y[i] = start[i];
    flow(&pendulum, y, k1);
    double h = first_step(&pendulum, y, k1, rtol, atol);

    while (next <= count) {
        if (t + 1.01 * h >= end) h = end - t;
        if (!(h > 1e-15 * fmax(1.0, t))) return 1;

        for (int i = 0; i < N; i++) z[i] = y[i] + h * (1.0 / 5) * k1[i];
        flow(&pendulum, z, k2);
        for (int i = 0; i < N; i++) z[i] = y[i] + h * (3.0 / 40 * k1[i] + 9.0 / 40 * k2[i]);
        flow(&pendulum, z, k3);
        for (int i = 0; i < N; i++) z[i] = y[i] + h * (44.0 / 45 * k1[i] - 56.0 / 15 * k2[i] + 32.0 / 9 * k3[i]);
        flow(&pendulum, z, k4);
        for (int i = 0; i < N; i++)
            z[i] = y[i] + h * (19372.0 / 6561 * k1[i] - 25360.0 / 2187 * k2[i] + 64448.0 / 6561 * k3[i]
                               - 212.0 / 729 * k4[i]);
        flow(&pendulum, z, k5);
        for (int i = 0; i < N; i++)
            z[i] = y[i] + h * (9017.0 / 3168 * k1[i] - 355.0 / 33 * k2[i] + 46732.0 / 5247 * k3[i] + 49.0 / 176 * k4[i]
                               - 5103.0 / 18656 * k5[i]);
        flow(&pendulum, z, k6);
        for (int i = 0; i < N; i++)
            z[i] = y[i] + h * (35.0 / 384 * k1[i] + 500.0 / 1113 * k3[i] + 125.0 / 192 * k4[i] - 2187.0 / 6784 * k5[i]
                               + 11.0 / 84 * k6[i]);
        flow(&pendulum, z, k7);

        double sum = 0.0;
        for (int i = 0; i < N; i++) {
            double e = h * (71.0 / 57600 * k1[i] - 71.0 / 16695 * k3[i] + 71.0 / 1920 * k4[i] - 17253.0 / 339200 * k5[i]
                            + 22.0 / 525 * k6[i] - 1.0 / 40 * k7[i]);
            e /= atol + rtol * fmax(fabs(y[i]), fabs(z[i]));
            sum += e * e;
        }
        /* powers by logarithms: the one of the last error is still at hand */
        double now = 0.5 * log(fmax(sum * (1.0 / N), 1e-20));
        if (!(sum <= N)) {
            h = sum < HUGE_VAL ? h * fmax(0.2, 0.9 * exp(-alpha * now)) : 0.1 * h;
            rejected++;
            grow = 0;
            continue;
        }
        accepted++;

        double reached = t + h;
        if (next * spacing <= reached || reached >= end) {
            double r1[N], r2[N], r3[N], r4[N], inverse = 1.0 / h;
            for (int i = 0; i < N; i++) {
                r1[i] = z[i] - y[i];
                r2[i] = h * k1[i] - r1[i];
                r3[i] = r1[i] - h * k7[i] - r2[i];
                r4[i] = h * (-12715105075.0 / 11282082432 * k1[i] + 87487479700.0 / 32700410799 * k3[i]
                             - 10690763975.0 / 1880347072 * k4[i] + 701980252875.0 / 199316789632 * k5[i]
                             - 1453857185.0 / 822651844 * k6[i] + 69997945.0 / 29380423 * k7[i]);
            }
            for (; next <= count && (next * spacing <= reached || reached >= end); next++) {
                double s = (next * spacing - t) * inverse, c = 1.0 - s;
                for (int i = 0; i < N; i++)
                    out[N * next + i] = y[i] + s * (r1[i] + c * (r2[i] + s * (r3[i] + c * r4[i])));
            }
        }
        t = reached;
        for (int i = 0; i < N; i++) {
            y[i] = z[i];
            k1[i] = k7[i];
        }
        double factor = 0.9 * exp(beta * old - alpha * now);
        h *= fmin(grow ? 10.0 : 1.0, fmax(0.2, factor));
        old = fmax(now, log(1e-4));
        grow = 1;
    }
    tally[0] = accepted;
    tally[1] = rejected;
    return 0;
}
