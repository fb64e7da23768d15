//! Command lines: what was typed, with each value of the parameters in its place, and a name for each.
//! Owns: the order (hyperfine's: values outside, commands inside), `{NAME}`, which name belongs to which. Never: runs one.

use crate::subjects::scan::Scan;
use crate::words::refusal::Refusal;

/// More commands than anyone waits for.
pub const LINES_MAX: usize = 1_000;

/// As typed.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    pub commands: Vec<String>,
    pub names: Vec<String>,
    pub scan: Option<Scan>,
    /// A parameter and its values.
    pub lists: Vec<(String, Vec<String>)>,
    /// What else takes the values: commands before, between and behind the runs.
    pub beside: Vec<String>,
}

/// One thing to measure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// For the screen and the files.
    pub name: String,
    pub command: String,
    pub parameters: Parameters,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parameters(pub Vec<(String, String)>);

impl Parameters {
    /// Each `{NAME}` becomes its value; a value that has such a word in it keeps it.
    #[must_use]
    pub fn replaced_in(&self, text: &str) -> String {
        let mut replaced = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(begin) = rest.find('{') {
            replaced.push_str(&rest[..begin]);
            rest = &rest[begin..];
            let found = self
                .0
                .iter()
                .find(|(name, _)| rest[1..].strip_prefix(name.as_str()).is_some_and(|after| after.starts_with('}')));
            match found {
                Some((name, value)) => {
                    replaced.push_str(value);
                    rest = &rest[name.len() + 2..];
                }
                None => {
                    replaced.push('{');
                    rest = &rest[1..];
                }
            }
        }
        replaced + rest
    }

    fn is_in(&self, name: &str, text: &str) -> bool {
        text.contains(&format!("{{{name}}}"))
    }
}

/// The values of one parameter list: at commas, where `\,` is a comma of the value.
#[must_use]
pub fn values_of(list: &str) -> Vec<String> {
    let mut values = vec![String::new()];
    let mut letters = list.chars();
    while let Some(letter) = letters.next() {
        match letter {
            ',' => values.push(String::new()),
            '\\' => match letters.next() {
                Some(escaped @ (',' | '\\')) => values.last_mut().into_iter().for_each(|value| value.push(escaped)),
                other => values.last_mut().into_iter().for_each(|value| {
                    value.push('\\');
                    value.extend(other);
                }),
            },
            other => values.last_mut().into_iter().for_each(|value| value.push(other)),
        }
    }
    values
}

impl Asked {
    /// # Errors
    /// A parameter is there twice, has no values or too many, or names do not fit.
    pub fn lines(&self) -> Result<Vec<Line>, Refusal> {
        if let Some(empty) = self.commands.iter().position(|command| command.trim().is_empty()) {
            return Err(Refusal::usage(
                format!("command {} is empty", empty + 1),
                "genba bench 'sleep 0.1' 'sleep 0.2'",
            ));
        }
        let combinations = self.combinations()?;
        self.check_used()?;
        let has_parameters = self.scan.is_some() || !self.lists.is_empty();
        let count = combinations.len() * self.commands.len();
        self.check_names(count, has_parameters)?;
        let name_of = |position: usize| {
            let shared = self.names.first().filter(|_| has_parameters && self.names.len() == 1);
            self.names.get(position).or(shared)
        };
        let pairs = combinations.iter().flat_map(|parameters| self.commands.iter().map(move |one| (parameters, one)));
        let line = |(position, (parameters, expression)): (usize, (&Parameters, &String))| {
            let command = parameters.replaced_in(expression);
            let named = name_of(position);
            let name = named.map_or_else(|| command.clone(), |name| parameters.replaced_in(name));
            let shown = named.unwrap_or(expression);
            let unseen = parameters.0.iter().filter(|(name, _)| !parameters.is_in(name, shown));
            let unseen: Vec<String> = unseen.map(|(name, value)| format!("{name} = {value}")).collect();
            let name = if unseen.is_empty() { name } else { format!("{name} ({})", unseen.join(", ")) };
            Line { name, command, parameters: parameters.clone() }
        };
        Ok(pairs.enumerate().map(line).collect())
    }

    /// Of lists the first parameter changes fastest.
    fn combinations(&self) -> Result<Vec<Parameters>, Refusal> {
        if let Some(scan) = &self.scan {
            let values = scan.values(LINES_MAX / self.commands.len().max(1))?;
            return Ok(values.into_iter().map(|value| Parameters(vec![(scan.name.clone(), value)])).collect());
        }
        let mut combinations = vec![Parameters::default()];
        for (position, (name, values)) in self.lists.iter().enumerate() {
            if self.lists[..position].iter().any(|(other, _)| other == name) {
                return Err(Refusal::usage(
                    format!("the parameter `{name}` is there twice"),
                    "one --parameter-list for each parameter",
                ));
            }
            let count = combinations.len() * values.len() * self.commands.len();
            if count > LINES_MAX {
                return Err(too_many(count));
            }
            let with = |value: &String| {
                let value = value.clone();
                combinations
                    .iter()
                    .map(|before| Parameters([before.0.clone(), vec![(name.clone(), value.clone())]].concat()))
                    .collect::<Vec<_>>()
            };
            combinations = values.iter().flat_map(with).collect();
        }
        match combinations.len() * self.commands.len() {
            count if count > LINES_MAX => Err(too_many(count)),
            _ => Ok(combinations),
        }
    }

    /// One that is nowhere would have one command measured several times, as if its values made a difference.
    fn check_used(&self) -> Result<(), Refusal> {
        let texts = || self.commands.iter().chain(&self.names).chain(&self.beside);
        let names = self.scan.iter().map(|scan| &scan.name).chain(self.lists.iter().map(|(name, _)| name));
        for name in names {
            let typed = format!("{{{name}}}");
            if !texts().any(|text| text.contains(&typed)) {
                let example = format!("genba bench --parameter-list {name} 1,2 'command {typed}'");
                let refusal = Refusal::usage(format!("no command has {typed}"), example);
                return Err(match self.commands.iter().find_map(|command| placeholder(command)) {
                    Some(found) => refusal.detail(format!("a command has {found}")),
                    None => refusal,
                });
            }
        }
        Ok(())
    }

    fn check_names(&self, lines: usize, has_parameters: bool) -> Result<(), Refusal> {
        let names = self.names.len();
        if names > lines || (has_parameters && names > 1 && names != lines) {
            let expected = if has_parameters { format!("1 or {lines}") } else { format!("at most {lines}") };
            return Err(Refusal::usage(
                format!("{names} names for {lines} commands"),
                "genba bench -n old 'python old.py' -n new 'python new.py'",
            )
            .detail(format!("expected {expected} of --command-name")));
        }
        Ok(())
    }
}

/// The first `{NAME}` of a command, `${NAME}` is the shell's.
fn placeholder(command: &str) -> Option<&str> {
    let begins = command.match_indices('{').filter(|(at, _)| !command[..*at].ends_with('$'));
    begins.into_iter().find_map(|(at, _)| {
        let (name, _) = command[at + 1..].split_once('}')?;
        let is_name = !name.is_empty() && name.chars().all(|letter| letter.is_alphanumeric() || "_-".contains(letter));
        is_name.then(|| &command[at..at + name.len() + 2])
    })
}

fn too_many(count: usize) -> Refusal {
    Refusal::usage(format!("{count} commands to measure; genba bench takes {LINES_MAX}"), "fewer values of a parameter")
}

#[cfg(test)]
mod tests {
    use super::{Asked, Line, Parameters, values_of};
    use crate::subjects::scan::Scan;

    fn words(texts: &[&str]) -> Vec<String> {
        texts.iter().map(ToString::to_string).collect()
    }

    fn said(asked: &Asked) -> Vec<String> {
        match asked.lines() {
            Ok(lines) => lines.iter().map(|line: &Line| format!("{} | {}", line.name, line.command)).collect(),
            Err(refusal) => vec![refusal.what],
        }
    }

    #[test]
    fn values_stay_as_they_are() {
        let parameters = Parameters(vec![("a".into(), "{b}".into()), ("b".into(), "x".into())]);
        assert_eq!(parameters.replaced_in("{a} {b} {c} {a"), "{b} x {c} {a");
        assert_eq!(parameters.replaced_in("${a} {{b}} ü{a}"), "${b} {x} ü{b}");
        assert_eq!(values_of(r"a,b\,c,,d\e"), ["a", "b,c", "", r"d\e"]);
    }

    #[test]
    fn a_parameter_is_in_a_command() {
        let of = |beside: &[&str]| {
            let lists = vec![("size".into(), words(&["1", "2"]))];
            Asked { commands: words(&["f {sise} ${x}"]), lists, beside: words(beside), ..Asked::default() }
        };
        let refusal = of(&[]).lines().expect_err("it is nowhere");
        assert_eq!(
            (refusal.what.as_str(), refusal.details.as_slice()),
            ("no command has {size}", &words(&["a command has {sise}"])[..])
        );
        assert_eq!(of(&["make {size}"]).lines().map(|lines| lines.len()).ok(), Some(2));
    }

    /// The order that hyperfine 1.15 and later take.
    #[test]
    fn values_outside_and_commands_inside() {
        let lists = vec![("x".into(), words(&["1", "2"])), ("y".into(), words(&["a", "b"]))];
        let asked = Asked { commands: words(&["f {x} {y}", "g {x}"]), lists, ..Asked::default() };
        let lines = said(&asked);
        assert_eq!(lines[..4], ["f 1 a | f 1 a", "g 1 (y = a) | g 1", "f 2 a | f 2 a", "g 2 (y = a) | g 2"]);
        assert_eq!(lines.len(), 8);
        let scan = Some(Scan { name: "n".into(), from: "1".into(), to: "2".into(), step: None });
        let asked = Asked { commands: words(&["f {n}"]), names: words(&["try {n}"]), scan, ..Asked::default() };
        assert_eq!(said(&asked), ["try 1 | f 1", "try 2 | f 2"]);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let plain = |commands: &[&str], names: &[&str]| {
            said(&Asked { commands: words(commands), names: words(names), ..Asked::default() })
        };
        assert_eq!(plain(&["f", "g"], &["one"]), ["one | f", "g | g"]);
        assert_eq!(plain(&["f"], &["one", "two"]), ["2 names for 1 commands"]);
        assert_eq!(plain(&["f", " "], &[]), ["command 2 is empty"]);
        let with = |lists: &[(&str, usize)]| {
            let list = |(name, count): &(&str, usize)| ((*name).to_string(), vec!["v".to_string(); *count]);
            said(&Asked { commands: words(&["f"]), lists: lists.iter().map(list).collect(), ..Asked::default() })
        };
        assert_eq!(with(&[("x", 1), ("x", 1)]), ["the parameter `x` is there twice"]);
        assert_eq!(with(&[("x", 100), ("y", 100)]), ["10000 commands to measure; genba bench takes 1000"]);
    }
}
