//! `cargo xtask glibc FILE VERSION`: fails when an ELF file asks for a glibc symbol newer than VERSION.
//! Owns: the reading of `objdump -T`. Never: builds, guesses which file is meant.

use std::path::Path;
use std::process::Command;

/// Err: the symbols that are too new, or why the file could not be read.
pub fn run(_root: &Path, arguments: &[String]) -> Result<(), String> {
    let [file, newest] = arguments else {
        return Err("cargo xtask glibc FILE VERSION, e.g. 2.17".to_owned());
    };
    let newest = version(newest).ok_or_else(|| format!("`{newest}` is not a version such as 2.17"))?;
    let output = Command::new("objdump").args(["-T", file]).output();
    let output = output.map_err(|error| format!("cannot start objdump (package binutils): {error}"))?;
    if !output.status.success() {
        return Err(format!("objdump -T {file}: {}", String::from_utf8_lossy(&output.stderr).trim()));
    }
    let too_new = newer_than(newest, &String::from_utf8_lossy(&output.stdout))?;
    if too_new.is_empty() {
        return Ok(());
    }
    Err(format!(
        "{file} asks for glibc symbols newer than {}.{}:\n  {}\nhint: link it with zig, as make build does: maturin build --zig --compatibility manylinux_{}_{}",
        newest.0,
        newest.1,
        too_new.join("\n  "),
        newest.0,
        newest.1
    ))
}

/// The undefined symbols whose `GLIBC_x.y` is above `newest`. Err: no glibc symbol at all, so nothing was checked.
fn newer_than(newest: (u32, u32), listing: &str) -> Result<Vec<String>, String> {
    let mut too_new = Vec::new();
    let mut checked = 0;
    for line in listing.lines().filter(|line| line.contains("*UND*")) {
        let Some((_, rest)) = line.split_once("GLIBC_") else { continue };
        let (number, name) = rest.split_once(')').unwrap_or((rest, ""));
        let number = number.split_whitespace().next().unwrap_or_default();
        let name = if name.is_empty() { rest.split_whitespace().last().unwrap_or_default() } else { name.trim() };
        let asked = version(number).ok_or_else(|| format!("cannot read the version in: {line}"))?;
        checked += 1;
        if asked > newest {
            too_new.push(format!("{name} (GLIBC_{number})"));
        }
    }
    if checked == 0 {
        return Err("no symbol of glibc in it: not the file that was meant?".to_owned());
    }
    Ok(too_new)
}

/// `2.17` and `2.2.5`; the third number never decides here.
fn version(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text.split('.').map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_newer_symbol_is_named_and_an_empty_listing_is_no_success() {
        let line = |version: &str, name: &str| {
            format!("0000000000000000      DF *UND*\t0000000000000000 ({version}) {name}\n")
        };
        let old = line("GLIBC_2.2.5", "free") + &line("GLIBC_2.17", "clock_gettime");
        assert_eq!(newer_than((2, 17), &old), Ok(vec![]));
        let new = old + &line("GLIBC_2.34", "pthread_create");
        assert_eq!(newer_than((2, 17), &new), Ok(vec!["pthread_create (GLIBC_2.34)".to_owned()]));
        assert!(newer_than((2, 17), "").is_err());
        let bare = "0000000000000000      DF *UND*\t0000000000000000  GLIBC_2.28  fcntl64\n";
        assert_eq!(newer_than((2, 17), bare), Ok(vec!["fcntl64 (GLIBC_2.28)".to_owned()]));
    }
}
