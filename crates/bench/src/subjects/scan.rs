//! `--parameter-scan NAME MIN MAX` with `--parameter-step-size`: which values.
//! Owns: exact decimal steps (0.1 three times is 0.3). Never: makes a list that is longer than asked for.

use crate::words::refusal::Refusal;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scan {
    pub name: String,
    pub from: String,
    pub to: String,
    pub step: Option<String>,
}

/// `digits` × 10 ^ -`places`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Decimal {
    digits: i128,
    places: u32,
}

/// As many as a float has anyway.
const PLACES_MAX: u32 = 15;

impl Decimal {
    fn parse(text: &str) -> Option<Decimal> {
        let (is_negative, plain) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (whole, fraction) = plain.split_once('.').unwrap_or((plain, ""));
        let is_digits = |digits: &str| digits.bytes().all(|digit| digit.is_ascii_digit());
        let places = u32::try_from(fraction.len()).ok()?;
        if whole.len() + fraction.len() == 0 || !is_digits(whole) || !is_digits(fraction) || places > PLACES_MAX {
            return None;
        }
        let digits: i128 = format!("0{whole}{fraction}").parse().ok()?;
        // So that no step of a scan can leave what is counted with.
        let is_small = digits < 10_i128.pow(18);
        is_small.then_some(Decimal { digits: if is_negative { -digits } else { digits }, places })
    }

    fn at(self, places: u32) -> i128 {
        self.digits * 10_i128.pow(places - self.places)
    }
}

fn text(digits: i128, places: u32) -> String {
    let sign = if digits < 0 { "-" } else { "" };
    let plain = format!("{:0>width$}", digits.unsigned_abs(), width = places as usize + 1);
    let (whole, fraction) = plain.split_at(plain.len() - places as usize);
    if places == 0 { format!("{sign}{whole}") } else { format!("{sign}{whole}.{fraction}") }
}

impl Scan {
    /// # Errors
    /// No number, no step or too many values.
    pub fn values(&self, most: usize) -> Result<Vec<String>, Refusal> {
        let example = "genba bench -P threads 1 8 'make -j {threads}', or -P delay 0.3 0.7 -D 0.2 'sleep {delay}'";
        let number = |text: &str| {
            Decimal::parse(text).ok_or_else(|| {
                Refusal::usage(format!("`{text}` is no number to scan with"), example)
                    .detail("expected a decimal number, such as 8, -1 or 0.25")
            })
        };
        let (from, to) = (number(&self.from)?, number(&self.to)?);
        let is_whole = from.places == 0 && to.places == 0;
        let step = match &self.step {
            Some(step) => number(step)?,
            None if is_whole => Decimal { digits: 1, places: 0 },
            None => {
                return Err(Refusal::usage("a scan of decimal numbers needs a step", example)
                    .detail("--parameter-step-size DELTA"));
            }
        };
        let places = from.places.max(to.places).max(step.places);
        let (from, to, step) = (from.at(places), to.at(places), step.at(places));
        if step <= 0 || to < from {
            return Err(Refusal::usage(format!("no values from {} to {}", self.from, self.to), example)
                .detail("expected MIN MAX, and a step above 0"));
        }
        let count = (to - from) / step + 1;
        if count > most as i128 {
            return Err(Refusal::usage(
                format!("{count} values from {} to {}; genba bench takes {most} of them", self.from, self.to),
                "a larger step: --parameter-step-size DELTA",
            ));
        }
        Ok((0..count).map(|position| text(from + position * step, places)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::Scan;

    fn said(from: &str, to: &str, step: Option<&str>) -> Vec<String> {
        let scan = Scan { name: "n".into(), from: from.into(), to: to.into(), step: step.map(Into::into) };
        scan.values(1000).unwrap_or_else(|refusal| vec![refusal.what])
    }

    #[test]
    fn steps_are_exact() {
        assert_eq!(said("1", "4", None), ["1", "2", "3", "4"]);
        assert_eq!(said("-3", "3", Some("3")), ["-3", "0", "3"]);
        assert_eq!(said("0.3", "0.7", Some("0.2")), ["0.3", "0.5", "0.7"]);
        assert_eq!(said("-0.1", "0.1", Some("0.05")), ["-0.10", "-0.05", "0.00", "0.05", "0.10"]);
        assert_eq!(said("1", "2", Some("0.5")), ["1.0", "1.5", "2.0"]);
        assert_eq!(said("5", "5", None), ["5"]);
    }

    #[test]
    fn what_cannot_be_scanned_is_refused() {
        assert_eq!(said("1", "x", None), ["`x` is no number to scan with"]);
        assert_eq!(said("0.1", "1", None), ["a scan of decimal numbers needs a step"]);
        assert_eq!(said("4", "1", None), ["no values from 4 to 1"]);
        assert_eq!(said("1", "4", Some("0")), ["no values from 1 to 4"]);
        assert_eq!(said("1", "10000", None), ["10000 values from 1 to 10000; genba bench takes 1000 of them"]);
        assert_eq!(said("0", "99999999999999999999", None), ["`99999999999999999999` is no number to scan with"]);
    }
}
