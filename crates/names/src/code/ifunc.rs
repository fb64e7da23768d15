//! Names of functions that the dynamic linker chooses among when the program is loaded (memmove & co.).
//! Owns: reading a resolver's candidates. Never: runs it; a candidate that begins no extent is none.

use crate::file::elf::Image;
use crate::file::extents::Extents;
use crate::file::symbols::Resolver;
use crate::words::spelling::preference;
use iced_x86::{Decoder, DecoderOptions, Instruction, Mnemonic};
use std::collections::BTreeMap;

/// Address and public name of each function that a resolver may answer with.
pub(crate) fn candidates(
    image: &Image<'_>,
    extents: &Extents<'_>,
    resolvers: &[Resolver<'_>],
) -> BTreeMap<u64, String> {
    let mut names: BTreeMap<u64, String> = BTreeMap::new();
    for resolver in resolvers {
        for candidate in loaded_addresses(image, extents, resolver.address) {
            if extents.starting_at(candidate).is_none() || candidate == resolver.address {
                continue;
            }
            let known = names.entry(candidate).or_insert_with(|| resolver.name.to_owned());
            if is_preferred(resolver.name, known) {
                resolver.name.clone_into(known);
            }
        }
    }
    names
}

/// Whether `candidate` is shown rather than `known` for the same address.
pub(crate) fn is_preferred(candidate: &str, known: &str) -> bool {
    (preference(candidate), candidate) < (preference(known), known)
}

/// What the resolver's instructions load as addresses relative to themselves.
fn loaded_addresses(image: &Image<'_>, extents: &Extents<'_>, resolver: u64) -> Vec<u64> {
    let Some(index) = extents.starting_at(resolver) else {
        return Vec::new();
    };
    let size = extents.get(index).end - resolver;
    let (Some(bytes), Ok(size)) = (image.bytes_from(resolver), usize::try_from(size)) else {
        return Vec::new();
    };
    let bytes = &bytes[..bytes.len().min(size)];
    let mut decoder = Decoder::with_ip(64, bytes, resolver, DecoderOptions::NONE);
    let mut instruction = Instruction::default();
    let mut found = Vec::new();
    while decoder.can_decode() {
        decoder.decode_out(&mut instruction);
        if instruction.mnemonic() == Mnemonic::Lea && instruction.is_ip_rel_memory_operand() {
            found.push(instruction.ip_rel_memory_address());
        }
    }
    found
}
