//! The tail of the standard normal distribution. It must not know what is tested with it.

/// Up to here the power series is short and free of cancellation; beyond, the continued fraction is.
const FAR: f64 = 2.5;

/// The share of the standard normal distribution above `z`, for `z` ≥ 0.
pub(super) fn upper_tail(z: f64) -> f64 {
    let x = z / std::f64::consts::SQRT_2;
    if x < FAR {
        (1.0 - near(x)) / 2.0
    } else {
        far(x) / 2.0
    }
}

/// erf(x) = 2/√π · e^(−x²) · Σ 2ⁿ x^(2n+1) / (1·3·5…(2n+1)) (DLMF 7.6.2): all terms are positive.
fn near(x: f64) -> f64 {
    let (mut term, mut sum, mut odd) = (x, x, 1.0);
    while term > sum * f64::EPSILON {
        odd += 2.0;
        term *= 2.0 * x * x / odd;
        sum += term;
    }
    std::f64::consts::FRAC_2_SQRT_PI * (-x * x).exp() * sum
}

/// erfc(x) = e^(−x²)/√π · 1/(x + (1/2)/(x + 1/(x + (3/2)/(x + …)))) (DLMF 7.9.1), from the inside out.
fn far(x: f64) -> f64 {
    let inside = (1..=60)
        .rev()
        .fold(x, |below, k| x + f64::from(k) / 2.0 / below);
    (-x * x).exp() * std::f64::consts::FRAC_2_SQRT_PI / 2.0 / inside
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reference: `math.erfc(z / math.sqrt(2)) / 2` of Python 3.
    #[test]
    fn tail_is_that_of_the_reference() {
        for (z, expected) in [
            (0.0, 0.5),
            (0.01, 0.496_010_643_685_368_4),
            (0.5, 0.308_537_538_725_986_9),
            (1.0, 0.158_655_253_931_457_07),
            (1.959_963_984_540_054, 0.025_000_000_000_000_02),
            (2.5, 0.006_209_665_325_776_139),
            (3.2, 0.000_687_137_937_915_848_5),
            (3.5, 0.000_232_629_079_035_525_04),
            (3.54, 0.000_200_063_516_007_320_56),
            (4.0, 3.167_124_183_311_996_5e-5),
            (6.0, 9.865_876_450_377_012e-10),
            (10.0, 7.619_853_024_160_593e-24),
            (30.0, 4.906_713_927_148_764e-198),
        ] {
            let tail = upper_tail(z);
            assert!(
                (tail / expected - 1.0).abs() < 1e-10,
                "{z}: {tail} {expected}"
            );
        }
    }
}
