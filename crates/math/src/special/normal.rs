//! Inverses of the normal distribution and of the error function. Coefficients are those of Cephes (S. Moshier).

use super::series::rational;

/// Where the standard normal distribution function has the value `p`; NaN outside of [0, 1].
pub fn ndtri(p: f64) -> f64 {
    if p.is_nan() || !(0.0..=1.0).contains(&p) {
        return f64::NAN;
    }
    if p == 0.0 || p == 1.0 {
        return if p == 0.0 { f64::NEG_INFINITY } else { f64::INFINITY };
    }
    const EXP_MINUS_2: f64 = 0.135_335_283_236_612_7;
    let (tail, sign) = if p > 1.0 - EXP_MINUS_2 { (1.0 - p, 1.0) } else { (p, -1.0) };
    if tail > EXP_MINUS_2 {
        return middle(tail - 0.5);
    }
    let x = (-2.0 * tail.ln()).sqrt();
    let z = 1.0 / x;
    let correction = if x < 8.0 {
        rational(z, &NDTRI_TAIL.0, &NDTRI_TAIL.1)
    } else {
        rational(z, &NDTRI_FAR.0, &NDTRI_FAR.1)
    };
    sign * (x - x.ln() / x - z * correction)
}

/// As `ndtri`, of 0.5 + `c`.
fn middle(c: f64) -> f64 {
    const SQRT_TAU: f64 = 2.506_628_274_631_000_7;
    let square = c * c;
    SQRT_TAU * (c + c * square * rational(square, &NDTRI_MIDDLE.0, &NDTRI_MIDDLE.1))
}

/// Where the error function has the value `y`; NaN outside of [-1, 1].
pub fn erfinv(y: f64) -> f64 {
    // Near 0 the detour by 0.5 + y / 2 would cost the digits of y.
    let x = if y.abs() < 0.5 { middle(y / 2.0) } else { -ndtri((1.0 - y.abs()) / 2.0).copysign(-y) };
    x * std::f64::consts::FRAC_1_SQRT_2
}

const NDTRI_MIDDLE: ([f64; 5], [f64; 9]) = (
    [-59.96335010141079, 98.00107541859997, -56.67628574690703, 13.931260938727968, -1.2391658386738125],
    [
        1.0,
        1.9544885833814176,
        4.676279128988815,
        86.36024213908905,
        -225.46268785411937,
        200.26021238006066,
        -82.03722561683334,
        15.90562251262117,
        -1.1833162112133,
    ],
);
const NDTRI_TAIL: ([f64; 9], [f64; 9]) = (
    [
        4.0554489230596245,
        31.525109459989388,
        57.16281922464213,
        44.08050738932008,
        14.684956192885803,
        2.1866330685079025,
        -0.1402560791713545,
        -0.03504246268278482,
        -0.0008574567851546854,
    ],
    [
        1.0,
        15.779988325646675,
        45.39076351288792,
        41.3172038254672,
        15.04253856929075,
        2.504649462083094,
        -0.14218292285478779,
        -0.03808064076915783,
        -0.0009332594808954574,
    ],
);
const NDTRI_FAR: ([f64; 9], [f64; 9]) = (
    [
        3.2377489177694603,
        6.915228890689842,
        3.9388102529247444,
        1.3330346081580755,
        0.20148538954917908,
        0.012371663481782003,
        0.00030158155350823543,
        2.6580697468673755e-06,
        6.239745391849833e-09,
    ],
    [
        1.0,
        6.02427039364742,
        3.6798356385616087,
        1.3770209948908132,
        0.21623699359449663,
        0.013420400608854318,
        0.00032801446468212774,
        2.8924786474538068e-06,
        6.790194080099813e-09,
    ],
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_values() {
        let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-13 * b.abs(), "{a} is not {b}");
        close(ndtri(1e-3), -3.090_232_306_167_813_5);
        close(ndtri(0.3), -0.524_400_512_708_040_9);
        close(ndtri(0.999), 3.090_232_306_167_813);
        close(ndtri(1e-40), -13.310_921_371_425_17);
        close(erfinv(0.5), 0.476_936_276_204_469_9);
        close(erfinv(-0.9), -1.163_087_153_676_674_3);
        close(erfinv(1e-20), 8.862_269_254_527_58e-21);
        assert_eq!((erfinv(1.0), erfinv(-1.0)), (f64::INFINITY, f64::NEG_INFINITY));
        assert!(erfinv(1.5).is_nan() && ndtri(-0.1).is_nan() && erfinv(f64::NAN).is_nan());
    }
}
