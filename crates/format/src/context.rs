//! What samples belong to beside their thread and stack. A row of `Contexts` has a kind, a name and a parent.
//! Owns: the numbers of the kinds, both ways. Never: finds out which context a thread is in.

/// Column `kind` of `Contexts` in genba.proto.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ContextKind {
    Interpreter,
    Task,
    Greenlet,
    /// What the program itself says.
    Tag,
    /// A kind that a newer genba wrote.
    Other(u32),
}

/// Every kind and its name for a reader.
const KINDS: [(ContextKind, &str); 4] = [
    (ContextKind::Interpreter, "interpreter"),
    (ContextKind::Task, "task"),
    (ContextKind::Greenlet, "greenlet"),
    (ContextKind::Tag, "tag"),
];

impl ContextKind {
    #[must_use]
    pub fn from_stored(stored: u32) -> ContextKind {
        KINDS.get(stored as usize).map_or(ContextKind::Other(stored), |(kind, _)| *kind)
    }

    #[must_use]
    pub fn stored(self) -> u32 {
        match self {
            ContextKind::Other(stored) => stored,
            known => (0..).zip(KINDS).find(|(_, (kind, _))| *kind == known).map_or(u32::MAX, |(number, _)| number),
        }
    }

    /// None: of a newer genba.
    #[must_use]
    pub fn name(self) -> Option<&'static str> {
        KINDS.iter().find(|(kind, _)| *kind == self).map(|(_, name)| *name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_read_as_it_was_stored() {
        for (number, (kind, _)) in (0..).zip(KINDS) {
            assert_eq!((kind.stored(), ContextKind::from_stored(number)), (number, kind));
        }
        assert_eq!(ContextKind::from_stored(99).stored(), 99);
        assert_eq!(ContextKind::from_stored(99).name(), None);
    }
}
