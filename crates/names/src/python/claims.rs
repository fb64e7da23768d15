//! From "this function stands in that slot of that type" to one name for the function.
//! Owns: what a function is called that several types, slots or methods share. Never: prefers one of several owners.

use crate::words::slots::Slot;
use std::collections::BTreeMap;

/// One place in the file's data that points to a function.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Claim {
    /// A type or a module; absent for a method table that nothing known points to, and for a slot that any class has.
    pub owner: Option<String>,
    pub role: Role,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Role {
    Slot {
        c_name: &'static str,
        word: &'static str,
    },
    /// An entry of a method table: "append", "__reduce__".
    Method(String),
    /// A getter or setter: "f_locals.__get__".
    Accessor(String),
}

impl Role {
    pub fn of_slot(slot: Slot) -> Self {
        Role::Slot { c_name: slot.c_name, word: slot.word() }
    }

    fn word(&self) -> &str {
        match self {
            Role::Slot { word, .. } => word,
            Role::Method(name) | Role::Accessor(name) => name,
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Claims {
    by_function: BTreeMap<u64, Vec<Claim>>,
}

impl Claims {
    pub fn add(&mut self, function: u64, owner: Option<&str>, role: Role) {
        let claim = Claim { owner: owner.map(str::to_owned), role };
        let claims = self.by_function.entry(function).or_default();
        if !claims.contains(&claim) {
            claims.push(claim);
        }
    }

    /// Function address and name; functions whose roles have nothing in common have none.
    pub fn into_names(self) -> BTreeMap<u64, String> {
        self.by_function.into_iter().filter_map(|(function, claims)| Some((function, name_for(&claims)?))).collect()
    }
}

/// More words than this in one name tell nothing.
const WORDS_MAX: usize = 3;

fn name_for(claims: &[Claim]) -> Option<String> {
    let first = claims.first()?;
    let belongs_to_all = claims.iter().any(|claim| claim.owner.is_none() && matches!(claim.role, Role::Slot { .. }));
    if !belongs_to_all && claims.iter().all(|claim| claim.owner == first.owner) {
        let word = word_for(claims.iter().map(|claim| &claim.role))?;
        return Some(match &first.owner {
            Some(owner) => format!("{owner}.{word}"),
            None => word,
        });
    }
    let slots: Option<Vec<&str>> = claims
        .iter()
        .map(|claim| match &claim.role {
            Role::Slot { c_name, .. } => Some(*c_name),
            Role::Method(_) | Role::Accessor(_) => None,
        })
        .collect();
    match slots {
        Some(slots) => Some(format!("slot_{}", joined(slots.into_iter())?)),
        None => word_for(claims.iter().map(|claim| &claim.role)),
    }
}

/// One word for all roles: the only one, else the only method that is not spelled with underscores, else all of them.
fn word_for<'c>(roles: impl Iterator<Item = &'c Role> + Clone) -> Option<String> {
    let mut plain: Vec<&str> = roles
        .clone()
        .filter(|role| matches!(role, Role::Method(name) if !name.starts_with('_')))
        .map(Role::word)
        .collect();
    plain.sort_unstable();
    plain.dedup();
    if let [word] = plain[..] {
        return Some(word.to_owned());
    }
    joined(roles.map(Role::word))
}

fn joined<'c>(words: impl Iterator<Item = &'c str>) -> Option<String> {
    let mut words: Vec<&str> = words.collect();
    words.sort_unstable();
    words.dedup();
    (words.len() <= WORDS_MAX).then(|| words.join("/"))
}

#[cfg(test)]
mod tests {
    use super::{Claims, Role};

    /// "list:append int:=nb_int" → the name; `=` marks a slot, `-` no owner.
    #[track_caller]
    fn check(claims: &str, expected: Option<&str>) {
        let mut all = Claims::default();
        for claim in claims.split_whitespace() {
            let (owner, word) = claim.split_once(':').unwrap();
            let role = match word.strip_prefix('=') {
                Some("nb_int") => Role::Slot { c_name: "nb_int", word: "__int__" },
                Some("nb_positive") => Role::Slot { c_name: "nb_positive", word: "__pos__" },
                Some("tp_init") => Role::Slot { c_name: "tp_init", word: "__init__" },
                Some(other) => panic!("{other}"),
                None => Role::Method(word.to_owned()),
            };
            all.add(0x1000, (owner != "-").then_some(owner), role);
        }
        let names = all.into_names();
        assert_eq!(names.get(&0x1000).map(String::as_str), expected, "{claims}");
    }

    #[test]
    fn one_owner_gives_its_name() {
        check("list:append", Some("list.append"));
        check("int:=nb_int", Some("int.__int__"));
        check("int:=nb_int int:=nb_positive", Some("int.__int__/__pos__"));
        check("deque:copy deque:__copy__", Some("deque.copy"));
        check("-:dumps", Some("dumps"));
    }

    #[test]
    fn shared_functions_keep_a_neutral_name() {
        check("A:=tp_init B:=tp_init", Some("slot_tp_init"));
        check("A:=tp_init B:=nb_int", Some("slot_nb_int/tp_init"));
        check("bytes:isalpha bytearray:isalpha", Some("isalpha"));
        check("A:a B:b C:c D:d", None);
        check("A:a -:a", Some("a"));
        check("-:=tp_init", Some("slot_tp_init"));
    }
}
