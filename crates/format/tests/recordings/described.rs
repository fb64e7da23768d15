//! FORMAT.md names the source it describes by checksum: whoever changes one has to open the other.

const FORMAT: &str = include_str!("../../../../FORMAT.md");

#[test]
fn the_description_is_of_this_source() {
    check("crates/format/genba.proto", include_bytes!("../../genba.proto"));
    check("crates/format/src/planes.rs", include_bytes!("../../src/planes.rs"));
    check("crates/format/src/framing.rs", include_bytes!("../../src/framing.rs"));
}

#[track_caller]
fn check(path: &str, source: &[u8]) {
    let row = format!("| `{path}` | `{:08x}` |", crc32c::crc32c(source));
    assert!(
        FORMAT.contains(&row),
        "{path} has changed: say so in FORMAT.md, then let its table of sources have the row\n{row}"
    );
}
