//! Durations on the command line: a number and a unit, `100us`, `1ms`, `30s`, `5m` (also `ns`).
//! Owns: the grammar and the limits of the interval between ticks. Never: guesses the unit of an interval.

pub const INTERVAL_NS_MIN: u64 = 50_000;
pub const INTERVAL_NS_MAX: u64 = 1_000_000_000;

const UNITS: [(&str, u64); 5] =
    [("ns", 1), ("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000), ("m", 60_000_000_000)];

/// `1ms` → 1,000,000 ns. Whole or decimal numbers; err: words for the user.
pub fn duration_ns(text: &str) -> Result<u64, String> {
    let unit_at = text.find(|letter: char| letter.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at(unit_at);
    let expected = "expected a number and a unit, such as 100us, 1ms, 30s or 5m";
    let Some((_, unit_ns)) = UNITS.iter().find(|(name, _)| *name == unit) else {
        return Err(expected.to_owned());
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let digits_only = |digits: &str| !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
    if !digits_only(whole) || !digits_only(fraction) || fraction.len() > 9 {
        return Err(expected.to_owned());
    }
    let too_long = || "longer than genba can count".to_owned();
    let whole: u64 = whole.parse().map_err(|_| too_long())?;
    let scale = 10_u64.pow(u32::try_from(fraction.len()).map_err(|_| too_long())?);
    let fraction: u64 = fraction.parse().map_err(|_| too_long())?;
    let fraction_ns = u128::from(fraction) * u128::from(*unit_ns) / u128::from(scale);
    let total_ns = u128::from(whole) * u128::from(*unit_ns) + fraction_ns;
    u64::try_from(total_ns).map_err(|_| too_long())
}

/// An interval between ticks.
pub fn interval_ns(text: &str) -> Result<u64, String> {
    within_limits(duration_ns(text)?)
}

/// Ticks a second → the interval.
pub fn rate_as_interval_ns(text: &str) -> Result<u64, String> {
    let rate: u64 = text.parse().map_err(|_| "expected whole ticks a second, such as 1000".to_owned())?;
    if rate == 0 {
        return Err("expected 1 to 20000 ticks a second".to_owned());
    }
    within_limits(1_000_000_000 / rate)
}

/// A time to record for, longer than nothing. Without a unit it is in seconds.
pub fn recording_ns(text: &str) -> Result<u64, String> {
    let is_number = text.bytes().all(|letter| letter.is_ascii_digit() || letter == b'.');
    let seconds = || duration_ns(&format!("{text}s"));
    match if is_number { seconds()? } else { duration_ns(text)? } {
        0 => Err("expected more than nothing".to_owned()),
        nonzero => Ok(nonzero),
    }
}

fn within_limits(interval_ns: u64) -> Result<u64, String> {
    if (INTERVAL_NS_MIN..=INTERVAL_NS_MAX).contains(&interval_ns) {
        return Ok(interval_ns);
    }
    Err("the time between two ticks is 50us (rate 20000) to 1s (rate 1)".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_with_their_unit() {
        let check = |text: &str, expected: Option<u64>| assert_eq!(duration_ns(text).ok(), expected, "{text}");
        check("250ns", Some(250));
        check("100us", Some(100_000));
        check("1ms", Some(1_000_000));
        check("1.5ms", Some(1_500_000));
        check("30s", Some(30_000_000_000));
        check("5m", Some(300_000_000_000));
        check("0s", Some(0));
        for refused in ["", "1", "ms", "1 ms", "-1ms", "1.ms", ".5ms", "1h", "1e3ms", "99999999999999999999s"] {
            check(refused, None);
        }
    }

    #[test]
    fn how_long_to_record_may_be_in_plain_seconds() {
        assert_eq!(recording_ns("5"), Ok(5_000_000_000));
        assert_eq!(recording_ns("0.5"), Ok(500_000_000));
        assert_eq!(recording_ns("5ms"), Ok(5_000_000));
        for refused in ["", "0", "5.", "-5", "five"] {
            assert!(recording_ns(refused).is_err(), "{refused}");
        }
    }

    #[test]
    fn the_limits_of_the_interval_are_inside() {
        assert_eq!(interval_ns("50us"), Ok(50_000));
        assert_eq!(interval_ns("1s"), Ok(1_000_000_000));
        assert!(interval_ns("49999ns").is_err());
        assert!(interval_ns("1000000001ns").is_err());
        assert_eq!(rate_as_interval_ns("20000"), Ok(50_000));
        assert!(rate_as_interval_ns("20001").is_err());
        assert!(rate_as_interval_ns("0").is_err());
    }
}
