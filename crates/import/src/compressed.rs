//! Files that were compressed as a whole: gzip and bzip2, told by their first bytes.
//! Owns: the limit that a small file cannot exceed in memory. Never: drops what came before a damaged place.

use std::io::Read;

use bzip2::read::MultiBzDecoder;
use flate2::read::MultiGzDecoder;

use crate::Refused;

/// What decompresses to more is refused: so much in any case, and so much for each byte of the file. Logs of vmprof shrink to a twentieth.
const PLAIN_BYTES_MIN: u64 = 64 << 20;
const PLAIN_BYTES_A_BYTE: u64 = 128;

pub struct Plain {
    pub bytes: Vec<u8>,
    /// The compressed data ends early or is damaged behind `bytes`.
    pub fault: Option<String>,
}

/// None: not compressed.
pub fn decompress(bytes: &[u8]) -> Result<Option<Plain>, Refused> {
    decompress_within(bytes, PLAIN_BYTES_MIN.saturating_add((bytes.len() as u64).saturating_mul(PLAIN_BYTES_A_BYTE)))
}

fn decompress_within(bytes: &[u8], plain_bytes_max: u64) -> Result<Option<Plain>, Refused> {
    if bytes.starts_with(b"\x1f\x8b") {
        taken("gzip", &mut MultiGzDecoder::new(bytes), plain_bytes_max).map(Some)
    } else if bytes.starts_with(b"BZh") && bytes.get(4..10) == Some(b"1AY&SY") {
        taken("bz2", &mut MultiBzDecoder::new(bytes), plain_bytes_max).map(Some)
    } else {
        Ok(None)
    }
}

fn taken(kind: &'static str, reader: &mut dyn Read, plain_bytes_max: u64) -> Result<Plain, Refused> {
    let mut bytes = Vec::new();
    let ended = reader.take(plain_bytes_max + 1).read_to_end(&mut bytes);
    if bytes.len() as u64 > plain_bytes_max {
        return Err(Refused::Unsupported(format!(
            "the {kind} data is larger than {plain_bytes_max} bytes when decompressed, which is the most that genba reads of so small a file"
        )));
    }
    let fault = ended.err().map(|error| {
        let count = bytes.len();
        format!("the {kind} data is damaged or cut behind its first {count} bytes (decompressed): {error}")
    });
    match fault {
        Some(found) if bytes.is_empty() => {
            Err(Refused::Damaged { kind, byte: 0, expected: "compressed data".to_owned(), found })
        }
        fault => Ok(Plain { bytes, fault }),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(bytes).expect("memory");
        encoder.finish().expect("memory")
    }

    fn bz2(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::default());
        encoder.write_all(bytes).expect("memory");
        encoder.finish().expect("memory")
    }

    #[test]
    fn both_kinds_are_told_by_their_content() {
        for packed in [gzip(b"a;b 1\n"), bz2(b"a;b 1\n")] {
            let plain = decompress(&packed).expect("intact").expect("compressed");
            assert_eq!((plain.bytes.as_slice(), plain.fault), (b"a;b 1\n".as_slice(), None));
        }
        assert!(decompress(b"a;b 1\n").expect("not compressed").is_none());
    }

    #[test]
    fn a_compressed_recording_is_refused_by_name() {
        let refused = crate::read(&gzip(b"\x89genba\r\n and so on")).err();
        assert!(matches!(refused, Some(Refused::Unsupported(words)) if words.starts_with("a recording of genba")));
    }

    #[test]
    fn a_bomb_is_refused_at_the_limit() {
        for packed in [gzip(&vec![0; 1 << 20]), bz2(&vec![0; 1 << 20])] {
            assert!(decompress_within(&packed, 1 << 20).is_ok());
            let refused = decompress_within(&packed, (1 << 20) - 1).err();
            assert!(matches!(refused, Some(Refused::Unsupported(words)) if words.contains("1048575 bytes")));
        }
    }

    #[test]
    fn what_stands_before_a_cut_is_kept_and_the_cut_is_told() {
        let text: Vec<u8> = (0..20_000_u32).flat_map(|n| format!("f{};g {n}\n", n % 97).into_bytes()).collect();
        for packed in [gzip(&text), bz2(&text)] {
            for cut in [12, packed.len() / 2, packed.len() - 1] {
                match decompress(&packed[..cut]) {
                    Ok(Some(plain)) => {
                        assert!(text.starts_with(&plain.bytes));
                        assert!(plain.fault.is_some_and(|fault| fault.contains("damaged or cut")));
                    }
                    Ok(None) => panic!("not told as compressed"),
                    Err(refused) => assert!(matches!(refused, Refused::Damaged { byte: 0, .. })),
                }
            }
        }
    }
}
