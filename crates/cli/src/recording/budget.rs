//! What sampling may take of the program's CPU, on the command line: `2%`, `0.5%`.
//! Owns: the grammar, the default and the limits.

/// Two percent.
pub const DEFAULT_PER_MILLE: u32 = 20;

/// `5%` → 50. Tenths of a percent at the finest; err: words for the user.
pub fn per_mille(text: &str) -> Result<u32, String> {
    let expected = "expected 0.1% to 100%, in steps of 0.1%";
    let number = text.strip_suffix('%').unwrap_or(text).trim_end();
    let (whole, tenths) = number.split_once('.').unwrap_or((number, "0"));
    let digits = |digits: &str| -> Option<u32> {
        digits.bytes().all(|digit| digit.is_ascii_digit()).then(|| digits.parse().ok()).flatten()
    };
    let per_mille = digits(whole).filter(|whole| *whole <= 100).zip(digits(tenths).filter(|_| tenths.len() == 1));
    let per_mille = per_mille.map(|(whole, tenths)| whole * 10 + tenths);
    per_mille.filter(|per_mille| (1..=1000).contains(per_mille)).ok_or_else(|| expected.to_owned())
}

#[cfg(test)]
mod tests {
    use super::per_mille;

    #[test]
    fn shares_are_read() {
        let check = |text: &str, expected: Option<u32>| assert_eq!(per_mille(text).ok(), expected, "{text}");
        check("5%", Some(50));
        check("2", Some(20));
        check("0.5 %", Some(5));
        check("100%", Some(1000));
        for refused in ["", "%", "0", "0%", "100.1%", "101", "-1%", "1.25%", ".5%", "5%%", "1e1", "99999999999%"] {
            check(refused, None);
        }
    }
}
