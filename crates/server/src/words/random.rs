//! Ids, tokens, session keys and codes of links: random, from the system; and the hashes under which secrets are stored.
//! Owns: their alphabets and lengths. Never: stores or prints a secret.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rustix::rand::{GetRandomFlags, getrandom};
use sha2::{Digest, Sha256};

use crate::words::problem::Problem;

const SECRET_BYTES: usize = 32;
const CODE_BYTES: usize = 16;
const ID_BYTES: usize = 10;
/// Letters that nobody mistakes for another.
const ID_ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
pub const ID_LETTERS: usize = ID_BYTES * 8 / 5;
const SESSION_PREFIX: &str = "session_";

/// Of a recording, or a part of it: no secret.
pub fn id() -> Result<String, Problem> {
    let bytes: [u8; ID_BYTES] = bytes()?;
    let mut bits = bytes.iter().fold(0_u128, |bits, byte| bits << 8 | u128::from(*byte));
    let mut letters = [0_u8; ID_LETTERS];
    for letter in letters.iter_mut().rev() {
        *letter = ID_ALPHABET[(bits & 31) as usize];
        bits >>= 5;
    }
    Ok(letters.iter().map(|letter| char::from(*letter)).collect())
}

pub fn is_id(word: &str) -> bool {
    word.len() == ID_LETTERS && word.bytes().all(|letter| ID_ALPHABET.contains(&letter))
}

/// `genba_` and 43 letters.
pub fn token() -> Result<String, Problem> {
    Ok(format!("genba_{}", URL_SAFE_NO_PAD.encode(bytes::<SECRET_BYTES>()?)))
}

pub fn session() -> Result<String, Problem> {
    Ok(format!("{SESSION_PREFIX}{}", URL_SAFE_NO_PAD.encode(bytes::<SECRET_BYTES>()?)))
}

/// Of a link: who has it may read one recording.
pub fn code() -> Result<String, Problem> {
    Ok(URL_SAFE_NO_PAD.encode(bytes::<CODE_BYTES>()?))
}

/// What is stored in a secret's place. A secret has 256 random bits, so nothing slower than SHA-256 is needed.
pub fn hash(secret: &str) -> String {
    hex(&Sha256::digest(secret.as_bytes()))
}

pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn bytes<const COUNT: usize>() -> Result<[u8; COUNT], Problem> {
    let mut bytes = [0; COUNT];
    match getrandom(&mut bytes, GetRandomFlags::empty()) {
        Ok(filled) if filled == COUNT => Ok(bytes),
        Ok(filled) => Err(Problem::internal("no random bytes", &format!("the system gave {filled} of {COUNT}"))),
        Err(error) => Err(Problem::internal("no random bytes", &error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_tokens_and_codes_are_what_they_look_like() {
        let (one, other) = (id().expect("random"), id().expect("random"));
        assert!(is_id(&one) && is_id(&other) && one != other, "{one} {other}");
        for word in ["", "short", "0123456789abcdei", "0123456789ABCDEF", "../../etc/passwd", "0123456789abcdef0"] {
            assert!(!is_id(word), "{word}");
        }
        assert_eq!(token().expect("random").len(), "genba_".len() + 43);
        assert_eq!(code().expect("random").len(), 22);
        assert_eq!(hash("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }
}
