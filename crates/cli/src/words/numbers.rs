//! Whole numbers on the command line.
//! Owns: the words for what is none, or out of bounds. Never: knows what is counted.

/// How many to show, where 0 is all.
pub fn limit(text: &str) -> Result<usize, String> {
    text.parse().map_err(|_| "expected a whole number, such as 20; 0 is no limit".to_owned())
}

/// Err: words for the user. A bound of the type is told to who exceeds it.
pub fn from<N: TryFrom<u64>>(least: u64) -> impl Fn(&str) -> Result<N, String> + Clone {
    move |text| {
        within(text, least, u64::MAX).ok_or_else(|| {
            let is_large = text.bytes().all(|digit| digit.is_ascii_digit()) && text.len() > 1;
            let large = if is_large { "; this one is too large" } else { "" };
            format!("expected a whole number, {least} or more{large}")
        })
    }
}

/// The same with an upper bound.
pub fn from_to<N: TryFrom<u64>>(least: u64, most: u64) -> impl Fn(&str) -> Result<N, String> + Clone {
    move |text| within(text, least, most).ok_or_else(|| format!("expected a whole number from {least} to {most}"))
}

fn within<N: TryFrom<u64>>(text: &str, least: u64, most: u64) -> Option<N> {
    let number = text.parse().ok().filter(|number| (least..=most).contains(number))?;
    N::try_from(number).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_number_is_said_in_plain_words() {
        assert_eq!((limit("0"), limit("20")), (Ok(0), Ok(20)));
        for wrong in ["x", "-3", "1.5", ""] {
            assert_eq!(limit(wrong).unwrap_err(), "expected a whole number, such as 20; 0 is no limit", "{wrong}");
        }
        assert_eq!((from::<u32>(1)("1"), from::<u32>(1)("4294967295")), (Ok(1), Ok(u32::MAX)));
        for wrong in ["0", "x", ""] {
            assert_eq!(from::<u32>(1)(wrong).unwrap_err(), "expected a whole number, 1 or more", "{wrong}");
        }
        let large = from::<u32>(1)("4294967296").unwrap_err();
        assert_eq!(large, "expected a whole number, 1 or more; this one is too large");
        assert_eq!(from_to::<u16>(1, 65_535)("65535"), Ok(65_535));
        assert_eq!(from_to::<u16>(1, 65_535)("0").unwrap_err(), "expected a whole number from 1 to 65535");
    }
}
