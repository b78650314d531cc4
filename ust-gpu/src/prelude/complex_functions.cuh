// Functions of complex numbers.
// Needs: types, floats, complex.
//
// All are computed in `double`. Square root, logarithm and the inverse functions follow W. Kahan,
// "Branch Cuts for Complex Elementary Functions, or Much Ado About Nothing's Sign Bit" (1987): the
// sign of a zero decides on which side of a cut a number lies, and nothing cancels far from the cuts.
#ifndef UST_COMPLEX_FUNCTIONS
#define UST_COMPLEX_FUNCTIONS

UST_FN c128 ust_conj(c128 z) { return c128{z.re, -z.im}; }
UST_FN double ust_real(c128 z) { return z.re; }
UST_FN double ust_imag(c128 z) { return z.im; }
UST_FN double ust_abs(c128 z) { return hypot(z.re, z.im); }
UST_FN double ust_angle(c128 z) { return atan2(z.im, z.re); }

// The larger of the absolute values of both parts; a NaN is no larger than any number.
UST_FN double ust_largest(c128 z) { return fmax(fabs(z.re), fabs(z.im)); }

UST_FN bool ust_is_zero(c128 z) { return z.re == 0 && z.im == 0; }

// `i z`, and `-i z`.
UST_FN c128 ust_turn(c128 z) { return c128{-z.im, z.re}; }
UST_FN c128 ust_turn_back(c128 z) { return c128{z.im, -z.re}; }

// A product in which 0 times infinity is 0.
UST_FN double ust_times(double a, double b) {
    return b == 0 && a == a ? b * copysign(1.0, a) : a * b;
}

UST_FN c128 ust_sgn(c128 z) {
    if (ust_is_zero(z)) return c128{0, 0};
    // Scaled, so that the absolute value neither overflows nor underflows.
    double largest = ust_largest(z);
    c128 scaled = c128{z.re / largest, z.im / largest};
    double size = hypot(scaled.re, scaled.im);
    return c128{scaled.re / size, scaled.im / size};
}

UST_FN c128 ust_sqrt(c128 z) {
    double far = ust_infinity<double>();
    if (fabs(z.im) == far) return c128{far, z.im};
    if (ust_is_zero(z)) return c128{0, z.im};
    if (fabs(z.re) == far) {
        double none = z.im == z.im ? 0.0 : z.im;
        return z.re > 0 ? c128{far, copysign(none, z.im)} : c128{none, copysign(far, z.im)};
    }
    // Scaled by a power of 4, so that the absolute value neither overflows nor loses digits.
    double largest = ust_largest(z), scale = 1, root = 1;
    if (largest > 1e300) {
        scale = 0x1p-4;
        root = 0x1p2;
    } else if (largest < 1e-290) {
        scale = 0x1p108;
        root = 0x1p-54;
    }
    double x = z.re * scale, y = z.im * scale;
    double longer = sqrt((fabs(x) + hypot(x, y)) / 2), shorter = fabs(y) / (2 * longer);
    double re = x >= 0 ? longer : shorter, im = x >= 0 ? shorter : longer;
    return c128{re * root, copysign(im, y) * root};
}

// The logarithm of the absolute value of `x + iy`.
UST_FN double ust_log_size(double x, double y) {
    x = fabs(x);
    y = fabs(y);
    double large = x >= y ? x : y, small = x >= y ? y : x;
    if (large >= 0.5 && large < 2) {
        return log1p((large - 1) * (large + 1) + small * small) / 2;
    }
    if (large > 1e300) return log(hypot(x / 2, y / 2)) + 0.693147180559945309417;
    return log(hypot(x, y));
}

UST_FN c128 ust_log(c128 z) { return c128{ust_log_size(z.re, z.im), atan2(z.im, z.re)}; }

UST_FN c128 ust_log1p(c128 z) {
    double x = z.re, y = z.im;
    if (ust_largest(z) < 0.5) {
        return c128{log1p(x * (2 + x) + y * y) / 2, atan2(y, 1 + x)};
    }
    return ust_log(c128{1 + x, y});
}

// `scale * exp(z)`, for a `z` whose `exp(z.re)` may overflow although the parts of the product do not.
// Multiplying twice by `exp(z.re / 2)` costs no significant digit.
UST_FN c128 ust_exp_far(c128 z, double scale) {
    double sine, cosine, root = exp(z.re / 2);
    sincos(z.im, &sine, &cosine);
    return c128{root * (root * scale * cosine), ust_times(root, ust_times(root * scale, sine))};
}

UST_FN c128 ust_exp(c128 z) {
    if (z.re == -ust_infinity<double>()) return c128{0, 0};
    if (z.re > 709) return ust_exp_far(z, 1);
    double sine = z.im, cosine = 1, size = exp(z.re);
    if (z.im != 0) sincos(z.im, &sine, &cosine);
    return c128{size * cosine, ust_times(size, sine)};
}

UST_FN c128 ust_expm1(c128 z) {
    if (z.re > 700) return ust_exp(z);
    double sine, cosine, half = sin(z.im / 2);
    sincos(z.im, &sine, &cosine);
    return c128{ust_times(cosine, expm1(z.re)) - 2 * half * half, ust_times(exp(z.re), sine)};
}

UST_FN c128 ust_sinh(c128 z) {
    double x = z.re, sine, cosine;
    // exp(-|x|) is below the last digit of exp(|x|).
    if (fabs(x) > 709) {
        c128 far = ust_exp_far(c128{fabs(x), z.im}, 0.5);
        return c128{far.re * copysign(1.0, x), far.im};
    }
    sincos(z.im, &sine, &cosine);
    return c128{ust_times(cosine, sinh(x)), ust_times(cosh(x), sine)};
}

UST_FN c128 ust_cosh(c128 z) {
    double x = z.re, sine, cosine;
    if (fabs(x) > 709) {
        c128 far = ust_exp_far(c128{fabs(x), z.im}, 0.5);
        return c128{far.re, far.im * copysign(1.0, x)};
    }
    sincos(z.im, &sine, &cosine);
    return c128{cosh(x) * cosine, ust_times(sinh(x), sine)};
}

UST_FN c128 ust_tanh(c128 z) {
    double x = z.re, y = z.im;
    // The real part differs from 1 by less than the last digit.
    if (fabs(x) > 40 && fabs(y) < ust_infinity<double>()) {
        double sine, cosine;
        sincos(y, &sine, &cosine);
        return c128{copysign(1.0, x), 4 * sine * cosine * exp(-2 * fabs(x))};
    }
    double tangent = tan(y), sine = sinh(x), slope = 1 + tangent * tangent;
    double cosine = sqrt(1 + sine * sine), size = 1 + slope * sine * sine;
    return c128{slope * cosine * sine / size, tangent / size};
}

UST_FN c128 ust_sin(c128 z) { return ust_turn_back(ust_sinh(ust_turn(z))); }
UST_FN c128 ust_cos(c128 z) { return ust_cosh(ust_turn(z)); }
UST_FN c128 ust_tan(c128 z) { return ust_turn_back(ust_tanh(ust_turn(z))); }

// The imaginary part of `conj(a) b`.
UST_FN double ust_cross(c128 a, c128 b) { return a.re * b.im - a.im * b.re; }

UST_FN c128 ust_asin(c128 z) {
    c128 minus = ust_sqrt(c128{1 - z.re, -z.im}), plus = ust_sqrt(c128{1 + z.re, z.im});
    double re = atan2(z.re, minus.re * plus.re - minus.im * plus.im);
    return c128{re, asinh(ust_cross(minus, plus))};
}

UST_FN c128 ust_acos(c128 z) {
    c128 minus = ust_sqrt(c128{1 - z.re, -z.im}), plus = ust_sqrt(c128{1 + z.re, z.im});
    return c128{2 * atan2(minus.re, plus.re), asinh(ust_cross(plus, minus))};
}

UST_FN c128 ust_asinh(c128 z) { return ust_turn(ust_asin(ust_turn_back(z))); }

UST_FN c128 ust_acosh(c128 z) {
    c128 minus = ust_sqrt(c128{z.re - 1, z.im}), plus = ust_sqrt(c128{z.re + 1, z.im});
    return c128{asinh(minus.re * plus.re + minus.im * plus.im), 2 * atan2(minus.im, plus.re)};
}

UST_FN c128 ust_atanh(c128 z) {
    double quarter_turn = 1.57079632679489661923;
    // The root of the largest number, divided by 4.
    double far = 0x1.fffffffffffffp+509, near = 1 / far;
    double x = fabs(z.re), y = z.im, size, re, im;
    if (x > far || fabs(y) > far) {
        size = hypot(x, y);
        re = size == ust_infinity<double>() ? 0 : x / size / size;
        im = copysign(quarter_turn, y);
    } else if (x == 1) {
        size = fabs(y) + near;
        // For y = 0, this is an end of the cut.
        re = y == 0 ? ust_infinity<double>() : log(sqrt(sqrt(4 + y * y)) / sqrt(size));
        im = copysign(quarter_turn + atan(size / 2), y) / 2;
    } else {
        size = fabs(y) + near;
        re = log1p(4 * x / ((1 - x) * (1 - x) + size * size)) / 4;
        im = atan2(2 * y, (1 - x) * (1 + x) - size * size) / 2;
    }
    return c128{copysign(1.0, z.re) * re, im};
}

UST_FN c128 ust_atan(c128 z) { return ust_turn_back(ust_atanh(ust_turn(z))); }

// A whole power by multiplication.
UST_FN c128 ust_whole_power(c128 z, i32 power) {
    if (power < 0) {
        double square = z.re * z.re + z.im * z.im;
        z = c128{z.re / square, -z.im / square};
        power = -power;
    }
    for (; (power & 1) == 0; power >>= 1) z = z * z;
    c128 result = z;
    while (power > 1) {
        power >>= 1;
        z = z * z;
        if (power & 1) result = result * z;
    }
    return result;
}

// Small whole powers by multiplication, others through the logarithm.
UST_FN c128 ust_pow(c128 z, c128 power) {
    if (ust_is_zero(power)) return c128{1, 0};
    if (ust_is_zero(z)) {
        double none = power.re > 0 ? 0.0 : ust_nan<double>();
        return c128{none, none};
    }
    if (power.im == 0 && trunc(power.re) == power.re && fabs(power.re) <= 64) {
        return ust_whole_power(z, (i32)power.re);
    }
    return ust_exp(power * ust_log(z));
}

// Those of `c64` are rounded.
UST_FN c128 ust_widen(c64 z) { return c128{z.re, z.im}; }
UST_FN c64 ust_narrow(c128 z) { return c64{(float)z.re, (float)z.im}; }

UST_FN c64 ust_conj(c64 z) { return c64{z.re, -z.im}; }
UST_FN float ust_real(c64 z) { return z.re; }
UST_FN float ust_imag(c64 z) { return z.im; }
UST_FN float ust_abs(c64 z) { return (float)ust_abs(ust_widen(z)); }
UST_FN float ust_angle(c64 z) { return atan2f(z.im, z.re); }
UST_FN c64 ust_pow(c64 z, c64 power) { return ust_narrow(ust_pow(ust_widen(z), ust_widen(power))); }

#define UST_ROUNDED(name) \
    UST_FN c64 ust_##name(c64 z) { return ust_narrow(ust_##name(ust_widen(z))); }
UST_ROUNDED(sgn)
UST_ROUNDED(sqrt)
UST_ROUNDED(exp)
UST_ROUNDED(expm1)
UST_ROUNDED(log)
UST_ROUNDED(log1p)
UST_ROUNDED(sin)
UST_ROUNDED(cos)
UST_ROUNDED(tan)
UST_ROUNDED(asin)
UST_ROUNDED(acos)
UST_ROUNDED(atan)
UST_ROUNDED(sinh)
UST_ROUNDED(cosh)
UST_ROUNDED(tanh)
UST_ROUNDED(asinh)
UST_ROUNDED(acosh)
UST_ROUNDED(atanh)

#endif
