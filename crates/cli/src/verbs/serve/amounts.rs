//! Ages, sizes and addresses as `genba serve` takes them: `30d`, `1y`, `256MB`, `localhost:8970`.

use std::net::SocketAddr;
use std::time::{SystemTime, UNIX_EPOCH};

const DAY_MS: i64 = 86_400_000;
const AGES: [(&str, i64); 7] = [
    ("s", 1_000),
    ("m", 60_000),
    ("h", 3_600_000),
    ("d", DAY_MS),
    ("w", 7 * DAY_MS),
    ("mo", 30 * DAY_MS),
    ("y", 365 * DAY_MS),
];
const SIZES: [(&str, u64); 5] =
    [("B", 1), ("kB", 1_000), ("MB", 1_000_000), ("GB", 1_000_000_000), ("TB", 1_000_000_000_000)];

pub fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

pub fn age_ms(text: &str) -> Result<i64, String> {
    let (number, unit) = split(text);
    let unit_ms = AGES.iter().find(|(name, _)| *name == unit).map(|(_, ms)| *ms);
    let age =
        number.parse::<u32>().ok().zip(unit_ms).and_then(|(number, unit_ms)| i64::from(number).checked_mul(unit_ms));
    age.ok_or_else(|| "expected a whole number and a unit, such as 12h, 30d or 1y".to_owned())
}

/// At least one. Whole ones: what is rounded down would delete too early.
pub fn days(text: &str) -> Result<u32, String> {
    let age_ms = age_ms(text)?;
    let days = u32::try_from(age_ms / DAY_MS).ok().filter(|days| age_ms % DAY_MS == 0 && (1..=36_500).contains(days));
    days.ok_or_else(|| "expected whole days, 1d to 100y".to_owned())
}

pub fn size_bytes(text: &str) -> Result<u64, String> {
    let (number, unit) = split(text);
    let unit_bytes = SIZES.iter().find(|(name, _)| *name == unit).map(|(_, bytes)| *bytes);
    let bytes =
        number.parse::<u32>().ok().zip(unit_bytes).and_then(|(number, unit)| u64::from(number).checked_mul(unit));
    bytes
        .filter(|bytes| *bytes > 0)
        .ok_or_else(|| "expected a whole number and a unit, such as 500kB, 256MB or 2GB".to_owned())
}

/// `localhost` is what everybody types for 127.0.0.1. No other name is asked for: it may lead to several addresses.
pub fn address(text: &str) -> Result<SocketAddr, String> {
    let here = text.strip_prefix("localhost:").map(|port| format!("127.0.0.1:{port}"));
    let address = here.as_deref().unwrap_or(text).parse::<SocketAddr>();
    address.map_err(|_| "expected an address and a port, such as 127.0.0.1:8970, [::1]:8970 or 0.0.0.0:8970".to_owned())
}

fn split(text: &str) -> (&str, &str) {
    text.split_at(text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        assert_eq!(address("localhost:0"), address("127.0.0.1:0"));
        for taken in ["127.0.0.1:8970", "0.0.0.0:80", "[::]:8970", "localhost:65535"] {
            assert!(address(taken).is_ok(), "{taken}");
        }
        for refused in
            ["", ":8970", "8970", "localhost", "0.0.0.0", "localhost:", "localhost:65536", "perf.example:8970"]
        {
            assert!(address(refused).is_err_and(|words| words.contains("such as 127.0.0.1:8970")), "{refused}");
        }
    }

    #[test]
    fn ages_and_sizes() {
        assert_eq!(age_ms("30d"), Ok(30 * DAY_MS));
        assert_eq!(age_ms("12h"), Ok(DAY_MS / 2));
        assert_eq!(days("1y"), Ok(365));
        assert_eq!(days("48h"), Ok(2));
        assert_eq!(size_bytes("256MB"), Ok(256_000_000));
        for refused in ["", "d", "30", "-1d", "1.5d", "1D", "9999999999d"] {
            assert!(age_ms(refused).is_err(), "{refused}");
        }
        for refused in ["1h", "36h", "0d", "101y"] {
            assert!(days(refused).is_err(), "{refused}");
        }
        for refused in ["", "0MB", "1mb", "MB", "1", "1.5GB"] {
            assert!(size_bytes(refused).is_err(), "{refused}");
        }
    }
}
