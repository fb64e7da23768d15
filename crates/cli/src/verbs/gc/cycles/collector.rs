//! Whether the search for cycles knows a CPython's collector.
//! Owns: the words about those that it does not. Partner: crates/python/src/interpreter/collector.rs has the numbers of these versions.

use crate::words::failure::Failure;

/// Collections in increments look at a part of the objects, and no test of genba's has run on such a collector.
pub fn check_version(version: &str, pid: u32) -> Result<(), Failure> {
    if !is_incremental(version) {
        return Ok(());
    }
    Err(Failure::no(format!("genba gc cycles does not know the collector of CPython {version}"))
        .detail("3.14.0 to 3.14.4 collect in increments")
        .hint(format!("genba heap {pid} --live-only says how much garbage there is; 3.14.5 and later work")))
}

fn is_incremental(version: &str) -> bool {
    let patch =
        version.strip_prefix("3.14.").and_then(|rest| rest.split(|letter: char| !letter.is_ascii_digit()).next());
    patch.and_then(|patch| patch.parse::<u32>().ok()).is_some_and(|patch| patch < 5)
}

#[cfg(test)]
mod tests {
    use super::is_incremental;

    #[test]
    fn five_patch_releases_collect_in_increments() {
        for version in ["3.14.0", "3.14.0rc2", "3.14.4"] {
            assert!(is_incremental(version), "{version}");
        }
        for version in ["3.13.0", "3.14.5", "3.14.10", "3.15.0", "3.11.7"] {
            assert!(!is_incremental(version), "{version}");
        }
    }
}
