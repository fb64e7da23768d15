//! Integers turned into words: durations, shares, counts, sizes. The only place where nanoseconds become text.
//! Never: rounds a number that somebody calculates with.

/// From large to small: nanoseconds and name.
const UNITS: [(u64, &str); 4] = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "µs"), (1, "ns")];

/// Three significant digits and the largest unit that keeps the number at 1 or above: `1.97 s`, `27.6 ms`, `16.0 µs`.
pub fn duration(duration_ns: u64) -> String {
    // 999.6 µs would round to "1,000 µs": it is 1.00 ms, so the limit lies half a last digit below the unit.
    let (unit_ns, name) =
        UNITS.into_iter().find(|(unit_ns, _)| duration_ns >= unit_ns - unit_ns / 2_000).unwrap_or((1, "ns"));
    let value = duration_ns as f64 / unit_ns as f64;
    match value {
        _ if unit_ns == 1 => format!("{duration_ns} ns"),
        ..9.995 => format!("{value:.2} {name}"),
        ..99.95 => format!("{value:.1} {name}"),
        _ => format!("{} {name}", count(value.round() as u64)),
    }
}

/// A setting, exactly: `1 ms`, `50 µs`, `1.5 s`.
pub fn setting(duration_ns: u64) -> String {
    let (unit_ns, name) = UNITS.into_iter().find(|(unit_ns, _)| duration_ns >= *unit_ns).unwrap_or((1, "ns"));
    format!("{} {name}", duration_ns as f64 / unit_ns as f64)
}

/// The same as it is typed on the command line: `1ms`, `1.5s`, `50us`.
pub fn setting_without_blank(duration_ns: u64) -> String {
    setting(duration_ns).replace(' ', "").replace('µ', "u")
}

/// A part of a whole in percent with one decimal, without the sign: `97.6`. A whole of nothing has no shares.
pub fn percent(part: u64, whole: u64) -> String {
    if whole == 0 {
        return "0.0".to_string();
    }
    format!("{:.1}", share(part, whole) * 100.0)
}

/// A part of a whole, 0 to 1.
pub fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        return 0.0;
    }
    part as f64 / whole as f64
}

/// Digits in groups of three: `1,968`.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (position, digit) in digits.char_indices() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 process`, `2 processes`: a count and its noun.
pub fn counted(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(number), if number == 1 { one } else { many })
}

/// Bytes in decimal units, three significant digits: `41.2 kB`.
pub fn size(bytes: u64) -> String {
    const SIZES: [(u64, &str); 3] = [(1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "kB")];
    let Some((unit, name)) = SIZES.into_iter().find(|(unit, _)| bytes >= unit - unit / 2_000) else {
        return counted(bytes, "byte", "bytes");
    };
    let value = bytes as f64 / unit as f64;
    match value {
        ..9.995 => format!("{value:.2} {name}"),
        ..99.95 => format!("{value:.1} {name}"),
        _ => format!("{} {name}", count(value.round() as u64)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_keep_three_digits_and_change_the_unit_when_rounding_does() {
        for (duration_ns, words) in [
            (0, "0 ns"),
            (999, "999 ns"),
            (1_000, "1.00 µs"),
            (999_499, "999 µs"),
            (999_500, "1.00 ms"),
            (27_640_000, "27.6 ms"),
            (1_970_000_000, "1.97 s"),
            (99_949_000_000, "99.9 s"),
            (1_234_567_000_000, "1,235 s"),
        ] {
            assert_eq!(duration(duration_ns), words, "{duration_ns}");
        }
    }

    #[test]
    fn settings_are_exact() {
        for (duration_ns, words) in [(1_000_000, "1 ms"), (50_000, "50 µs"), (1_500_000_000, "1.5 s")] {
            assert_eq!(setting(duration_ns), words);
        }
    }

    #[test]
    fn counts_and_sizes() {
        assert_eq!(count(999), "999");
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(size(1), "1 byte");
        assert_eq!(size(41_234), "41.2 kB");
        assert_eq!(percent(1, 3), "33.3");
        assert_eq!(percent(0, 0), "0.0");
    }
}
