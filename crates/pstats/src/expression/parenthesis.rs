//! What parentheses hold in Python's regular expressions.
//! Owns: groups and their names, flags, comments, and which of them the crate `regex` has no equal of. Never: reads what is between them.

use super::{Group, Last, Open, Reader, Refused};

const FLAGS: &str = "aimsux";
/// Those that can be turned off.
const FLAGS_OFF: &str = "imsx";

impl<'a> Reader<'a> {
    /// Behind one that opens.
    pub(super) fn parenthesis(&mut self) -> Result<(), Refused> {
        if !self.takes("?") {
            return self.group(None);
        }
        match self.next().ok_or(Refused::Invalid)? {
            'P' if self.takes("<") => {
                let name = self.name('>')?;
                self.group(Some(name))?;
            }
            'P' if self.takes("=") => {
                let name = self.name(')')?;
                let group = self.groups.iter().find(|group| group.name == Some(name));
                let reference = self.reference(group.is_some_and(|group| !group.is_open))?;
                self.item(reference);
            }
            ':' => self.begin("(?:", Open::default()),
            '#' => self.rest = self.rest.split_once(')').ok_or(Refused::Invalid)?.1,
            '=' | '!' | '>' => self.unsupported(Open::default()),
            '<' if self.takes("=") || self.takes("!") => self.unsupported(Open::default()),
            '(' => self.condition()?,
            letter => self.flags(letter)?,
        }
        Ok(())
    }

    pub(super) fn close(&mut self) -> Result<(), Refused> {
        let opened = self.open.pop().ok_or(Refused::Invalid)?;
        if let Some(group) = opened.group.and_then(|group| self.groups.get_mut(group)) {
            group.is_open = false;
        }
        self.rust.push(')');
        self.last = Last::Item;
        Ok(())
    }

    pub(super) fn alternative(&mut self) -> Result<(), Refused> {
        match self.open.last_mut() {
            Some(Open { alternatives: Some(left), .. }) => *left = left.checked_sub(1).ok_or(Refused::Invalid)?,
            Some(_) => {}
            None => self.is_at_begin = false,
        }
        self.rust.push('|');
        self.last = Last::Nothing;
        Ok(())
    }

    fn begin(&mut self, rust: &str, open: Open) {
        self.rust += rust;
        self.open.push(open);
        self.last = Last::Nothing;
    }

    fn unsupported(&mut self, open: Open) {
        self.is_unsupported = true;
        self.begin("(?:", open);
    }

    /// The crate need not remember what one matched.
    fn group(&mut self, name: Option<&'a str>) -> Result<(), Refused> {
        if name.is_some() && self.groups.iter().any(|group| group.name == name) {
            return Err(Refused::Invalid);
        }
        self.begin("(?:", Open { group: Some(self.groups.len()), alternatives: None });
        self.groups.push(Group { name, is_open: true });
        Ok(())
    }

    fn name(&mut self, end: char) -> Result<&'a str, Refused> {
        let name = self.until(end)?;
        let is_name = name.chars().all(|letter| letter == '_' || letter.is_alphanumeric());
        let is_number = name.starts_with(|letter: char| letter.is_numeric());
        if is_name && !is_number { Ok(name) } else { Err(Refused::Invalid) }
    }

    fn condition(&mut self) -> Result<(), Refused> {
        let digits = self.rest.split_once(')').map_or("", |(name, _)| name);
        if !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit()) {
            let number = self.until(')')?.parse::<usize>().ok().filter(|number| *number > 0);
            self.condition = self.condition.max(number.ok_or(Refused::Invalid)?);
        } else {
            let name = self.name(')')?;
            if !self.groups.iter().any(|group| group.name == Some(name)) {
                return Err(Refused::Invalid);
            }
        }
        self.unsupported(Open { group: None, alternatives: Some(1) });
        Ok(())
    }

    /// `first` is behind the question mark.
    fn flags(&mut self, first: char) -> Result<(), Refused> {
        let rest = self.take(usize::MAX, |letter| letter != ')' && letter != ':');
        let is_for_all = self.next().ok_or(Refused::Invalid)? == ')';
        let flags = format!("{first}{rest}");
        let (on, off) = flags.split_once('-').map_or((flags.as_str(), None), |(on, off)| (on, Some(off)));
        let is_known = on.chars().all(|flag| FLAGS.contains(flag)) && !(on.contains('a') && on.contains('u'));
        let is_off =
            |off: &str| !off.is_empty() && off.chars().all(|flag| FLAGS_OFF.contains(flag) && !on.contains(flag));
        if !is_known || !off.is_none_or(|off| is_off(off) && !is_for_all) {
            return Err(Refused::Invalid);
        }
        if is_for_all && !(self.is_at_begin && self.open.is_empty() && self.last == Last::Nothing) {
            return Err(Refused::Invalid);
        }
        // With `x` blanks and comments are no letters any more.
        if on.contains('x') {
            return Err(Refused::Unsupported);
        }
        self.is_unsupported |= on.contains('a');
        let shared = |flags: &str| flags.replace(['a', 'u', 'x'], "");
        let minus = off.map(shared).filter(|off| !off.is_empty()).map(|off| format!("-{off}")).unwrap_or_default();
        match (is_for_all, shared(on)) {
            (true, on) if on.is_empty() => {}
            (true, on) => self.rust += &format!("(?{on})"),
            (false, on) => self.begin(&format!("(?{on}{minus}:"), Open::default()),
        }
        Ok(())
    }
}
