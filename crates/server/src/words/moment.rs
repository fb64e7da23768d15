//! Times as the server writes them: milliseconds since 1970.
//! Owns: the clock. Never: formats a time; pages and commands do.

use std::time::{SystemTime, UNIX_EPOCH};

pub const SECOND_MS: i64 = 1_000;
pub const MINUTE_MS: i64 = 60 * SECOND_MS;
pub const HOUR_MS: i64 = 60 * MINUTE_MS;
pub const DAY_MS: i64 = 24 * HOUR_MS;
/// 2^53 - 1: the last one that every reader of JSON can hold.
pub const LATEST_MS: i64 = 9_007_199_254_740_991;

pub fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
