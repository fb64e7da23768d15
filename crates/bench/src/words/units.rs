//! Units of time on the screen and in tables.
//! Owns: which unit fits, and its digits (hyperfine's: three for seconds, one for the others). Never: rounds what somebody calculates with.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    Nanosecond,
    Microsecond,
    Millisecond,
    Second,
}

impl Unit {
    /// The largest in which the time is 1 or more.
    #[must_use]
    pub fn fitting(time_ns: f64) -> Unit {
        match time_ns {
            1e9.. => Unit::Second,
            1e6.. => Unit::Millisecond,
            1e3.. => Unit::Microsecond,
            _ => Unit::Nanosecond,
        }
    }

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Unit::Nanosecond => "ns",
            Unit::Microsecond => "µs",
            Unit::Millisecond => "ms",
            Unit::Second => "s",
        }
    }

    /// Without the unit's name.
    #[must_use]
    pub fn number(self, time_ns: f64) -> String {
        match self {
            Unit::Nanosecond => format!("{time_ns:.1}"),
            Unit::Microsecond => format!("{:.1}", time_ns / 1e3),
            Unit::Millisecond => format!("{:.1}", time_ns / 1e6),
            Unit::Second => format!("{:.3}", time_ns / 1e9),
        }
    }

    #[must_use]
    pub fn text(self, time_ns: f64) -> String {
        format!("{} {}", self.number(time_ns), self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::Unit;

    #[test]
    fn the_unit_fits_and_has_its_digits() {
        for (time_ns, text) in [
            (0.0, "0.0 ns"),
            (12.34, "12.3 ns"),
            (999_999.0, "1000.0 µs"),
            (1_500_000.0, "1.5 ms"),
            (1_234_567_000.0, "1.235 s"),
        ] {
            assert_eq!(Unit::fitting(time_ns).text(time_ns), text);
        }
    }
}
