//! A `.prof` file's bytes: a dict from functions to their counts, times and callers, in the oldest words of marshal, which every Python reads.
//! Behind it, where pstats does not look: how often and how long coroutines waited.
//! Owns: those words. Never: opens a file. Source: CPython Python/marshal.c, Lib/cProfile.py (`snapshot_stats`).

use super::super::counts::{Totals, Waits};
use super::super::names::Name;

/// A function, what its calls add up to, and the same for each caller, by its place in the list.
#[derive(Default)]
pub struct Row {
    pub totals: Totals,
    pub waits: Waits,
    pub callers: Vec<(usize, Totals)>,
}

/// `rows` belong to `names`, one to one; their ticks are the clock's (clock.rs). A function that nobody called is left out.
pub fn bytes(names: &[&Name], rows: &[Row], ticks_per_second: f64) -> Vec<u8> {
    let seconds = |out: &mut Vec<u8>, ticks: u64| number(out, ticks as f64 / ticks_per_second);
    let mut out = vec![b'{'];
    for (name, row) in names.iter().zip(rows).filter(|(_, row)| row.totals.calls > 0) {
        function(&mut out, name);
        tuple(&mut out, 5);
        let totals = &row.totals;
        // In the order that pstats has for functions; callers have another one.
        whole(&mut out, totals.calls - totals.recursive_calls);
        whole(&mut out, totals.calls);
        seconds(&mut out, totals.own_ticks);
        seconds(&mut out, totals.total_ticks);
        out.push(b'{');
        for (caller, totals) in row.callers.iter().filter(|(_, totals)| totals.calls > 0) {
            let Some(caller) = names.get(*caller) else { continue };
            function(&mut out, caller);
            tuple(&mut out, 4);
            whole(&mut out, totals.calls);
            whole(&mut out, totals.calls - totals.recursive_calls);
            seconds(&mut out, totals.own_ticks);
            seconds(&mut out, totals.total_ticks);
        }
        out.push(b'0');
    }
    out.push(b'0');
    awaits(&mut out, names, rows, ticks_per_second);
    out
}

/// A dict with one key, so that nobody takes it for another profile. Each function has a count of awaits, their seconds, and how many still wait.
/// Read by genba-pstats (`prof.rs`).
fn awaits(out: &mut Vec<u8>, names: &[&Name], rows: &[Row], ticks_per_second: f64) {
    if rows.iter().all(|row| row.waits.awaits == 0) {
        return;
    }
    out.push(b'{');
    text(out, b"genba: awaits");
    out.push(b'{');
    for (name, row) in names.iter().zip(rows).filter(|(_, row)| row.waits.awaits > 0) {
        function(out, name);
        tuple(out, 3);
        whole(out, row.waits.awaits);
        number(out, row.waits.waited_ticks as f64 / ticks_per_second);
        whole(out, row.waits.waiting);
    }
    out.extend_from_slice(b"00");
}

fn function(out: &mut Vec<u8>, name: &Name) {
    tuple(out, 3);
    text(out, &name.file);
    whole(out, name.line);
    text(out, &name.name);
}

fn tuple(out: &mut Vec<u8>, length: u32) {
    out.push(b'(');
    out.extend_from_slice(&length.to_le_bytes());
}

fn text(out: &mut Vec<u8>, utf8: &[u8]) {
    out.push(b'u');
    out.extend_from_slice(&u32::try_from(utf8.len()).unwrap_or(0).to_le_bytes());
    out.extend_from_slice(utf8);
}

fn whole(out: &mut Vec<u8>, number: u64) {
    if let Ok(small) = i32::try_from(number) {
        out.push(b'i');
        out.extend_from_slice(&small.to_le_bytes());
        return;
    }
    // Digits of 15 bits.
    let digits: Vec<u16> = std::iter::successors(Some(number), |rest| Some(rest >> 15))
        .take_while(|rest| *rest > 0)
        .map(|rest| (rest & 0x7fff) as u16)
        .collect();
    out.push(b'l');
    out.extend_from_slice(&(digits.len() as u32).to_le_bytes());
    digits.iter().for_each(|digit| out.extend_from_slice(&digit.to_le_bytes()));
}

fn number(out: &mut Vec<u8>, number: f64) {
    out.push(b'g');
    out.extend_from_slice(&number.to_le_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_that_marshal_writes() {
        let bytes = |number| {
            let mut out = Vec::new();
            whole(&mut out, number);
            out
        };
        assert_eq!(bytes(7), b"i\x07\0\0\0");
        // python3 -c 'import marshal; print(marshal.dumps(2 ** 31, 2), marshal.dumps(2 ** 45 + 1, 2))'
        assert_eq!(bytes(1 << 31), b"l\x03\0\0\0\0\0\0\0\x02\0");
        assert_eq!(bytes((1 << 45) + 1), b"l\x04\0\0\0\x01\0\0\0\0\0\x01\0");
    }

    #[test]
    fn a_function_without_calls_is_left_out() {
        let name = Name { file: b"a.py".to_vec(), line: 1, name: b"f".to_vec() };
        assert_eq!(super::bytes(&[&name], &[Row::default()], 1e9), b"{0");
    }

    #[test]
    fn waits_are_behind_what_pstats_reads() {
        let name = Name { file: b"a.py".to_vec(), line: 1, name: b"f".to_vec() };
        let waits = Waits { awaits: 2, waiting: 1, waited_ticks: 500_000_000, first_place: 0 };
        let row = Row { waits, ..Row::default() };
        let behind = b"{u\x0d\0\0\0genba: awaits{(\x03\0\0\0u\x04\0\0\0a.pyi\x01\0\0\0u\x01\0\0\0f(\x03\0\0\0i\x02\0\0\0g\0\0\0\0\0\0\xe0\x3fi\x01\0\0\x0000";
        assert_eq!(super::bytes(&[&name], &[row], 1e9), [b"{0", behind.as_slice()].concat());
    }
}
