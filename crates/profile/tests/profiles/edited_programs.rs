//! Programs that are edited at random: a row is the same code on both sides, or it is not compared.
//! The truth is known: each expression has a number of samples that no other one has, before the edit and after it.
//! docs/reading/diff.md says what is told apart ("Which rows belong together"); what is not is named in `merged`.
//!
//! Over 500 lines: the programs, their edits, and the truth about them are one thing.

use std::collections::{BTreeMap, BTreeSet};

use crate::compared::{runs, told};
use crate::notation::SAMPLE_QUANTA;
use crate::random::Random;
use genba_format::QUANTUM_NS;
use genba_profile::difference::{Code, Row, Subject};
use genba_profile::difference_view::comparison;
use genba_profile::weight::Weight;

const PROGRAMS: u64 = 400;
/// Of an expression: so many samples and its number. Those of two are more than those of any one.
const SAMPLES_MIN: u64 = 80;
/// Of the expressions of a program that is met in part.
const UNMET_PART: f64 = 0.3;
const SAMPLE_NS: f64 = (SAMPLE_QUANTA * QUANTUM_NS) as f64;

/// What calls of functions are written as. Several expressions have one text.
const TEXTS: [&str; 3] = ["step(data)", "step(data + 1)", "turn(data)"];
const METHODS: [&str; 2] = ["run", "stop"];
/// With their decorators.
const ACCESSORS: [(&str, &str); 2] = [("@property", "def value(self):"), ("@value.setter", "def value(self, data):")];
/// Those that edits change. One more is there where a module's name was taken.
const EDITED_FILES: usize = 3;
/// What the module is called then.
const OLD_MODULE: &str = "old.py";
/// At the end of each module: it moves whenever anything moves, and stays what it is.
const LAST: &str = "last";

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    /// With one expression or two.
    Plain,
    /// With two methods.
    Class,
    /// A function with another one inside.
    Nested,
    NestedLambda,
    /// In CPython 3.11 a function of its own, which belongs to the one around it.
    Comprehension,
    /// Of the module: all of them are called `<lambda>`.
    Lambda,
    /// By `singledispatch`: all of them are called `_`.
    Registered,
    /// A class whose getter and setter have one name.
    Property,
    /// Both arms of an `if` define a function of one name.
    Arms,
}

/// Those that share their names are there twice.
const KINDS: [Kind; 11] = [
    Kind::Plain,
    Kind::Class,
    Kind::Nested,
    Kind::NestedLambda,
    Kind::Comprehension,
    Kind::Lambda,
    Kind::Registered,
    Kind::Lambda,
    Kind::Registered,
    Kind::Property,
    Kind::Arms,
];

impl Kind {
    /// Several of them have one name in a file.
    fn shares_its_name(self) -> bool {
        matches!(self, Kind::Lambda | Kind::Registered)
    }
}

#[derive(Clone)]
struct Item {
    /// By which `main` calls it, whatever its name is.
    number: u32,
    name: String,
    kind: Kind,
    /// Remarks above it, and at its beginning.
    above: usize,
    inside: usize,
    expressions: Vec<Expression>,
}

#[derive(Clone, Copy)]
struct Expression {
    number: u32,
    text: &'static str,
}

impl Expression {
    fn samples(number: u32) -> u64 {
        SAMPLES_MIN + u64::from(number)
    }
}

#[derive(Clone, Copy, Debug)]
enum Edit {
    Remarks,
    RemarksInside,
    NewFunction,
    DeletedFunction,
    MovedFunction,
    /// Two of one name change their places.
    ReorderedFunctions,
    RenamedFunction,
    OtherRoot,
    OtherFolder,
    OtherScript,
    OtherModule,
    /// Another module has its name, and has nothing of it.
    TakenName,
    OtherPython,
}

const EDITS: [Edit; 13] = [
    Edit::Remarks,
    Edit::RemarksInside,
    Edit::NewFunction,
    Edit::DeletedFunction,
    Edit::MovedFunction,
    Edit::ReorderedFunctions,
    Edit::RenamedFunction,
    Edit::OtherRoot,
    Edit::OtherFolder,
    Edit::OtherScript,
    Edit::OtherModule,
    Edit::TakenName,
    Edit::OtherPython,
];

#[derive(Clone)]
struct Program {
    python: &'static str,
    root: &'static str,
    script: &'static str,
    folder: &'static str,
    module: &'static str,
    /// Of the script, of two modules of one base name, and of what took the name of the first one.
    files: [Vec<Item>; EDITED_FILES + 1],
    /// Numbers of items, as `main` calls them.
    calls: Vec<u32>,
    /// Numbers of expressions that are in no sample.
    unmet: BTreeSet<u32>,
    items: u32,
    expressions: u32,
    edits: u32,
    /// After the last edit another one would make the truth a matter of opinion.
    is_done: bool,
}

impl Program {
    fn made(random: &mut Random) -> Program {
        let mut program = Program {
            python: random.of(&["3.11.9", "3.13.0"]),
            root: "/app",
            script: "app.py",
            folder: "shop",
            module: "util.py",
            files: [const { Vec::new() }; EDITED_FILES + 1],
            calls: Vec::new(),
            unmet: BTreeSet::new(),
            items: 0,
            expressions: 0,
            edits: 0,
            is_done: false,
        };
        for (file, count) in [(0, 4), (1, 3), (2, 2)] {
            for at in 0..count {
                let kind = random.of(&KINDS);
                // Functions of different files have one name.
                let item = program.item(kind, format!("f{at}"), random);
                program.calls.push(item.number);
                program.files[file].push(item);
            }
        }
        for file in [1, 2] {
            let item = program.item(Kind::Plain, LAST.to_string(), random);
            program.calls.push(item.number);
            program.files[file].push(item);
        }
        program
    }

    fn item(&mut self, kind: Kind, name: String, random: &mut Random) -> Item {
        let first = random.of(&TEXTS);
        let second = random.of(&TEXTS);
        let texts = match kind {
            Kind::Plain if random.next() < 0.5 => vec![first, second],
            Kind::Class | Kind::Property | Kind::Arms => vec![first, second],
            Kind::Nested | Kind::NestedLambda => vec!["inner(data)", first],
            Kind::Plain | Kind::Comprehension | Kind::Lambda | Kind::Registered => vec![first],
        };
        let mut expressions = Vec::new();
        for text in texts {
            expressions.push(Expression { number: self.next_expression(), text });
        }
        self.items += 1;
        Item { number: self.items, name, kind, above: random.below(2), inside: 0, expressions }
    }

    fn next_expression(&mut self) -> u32 {
        self.expressions += 1;
        // Else two together may have as many samples as another one.
        assert!(u64::from(self.expressions) < SAMPLES_MIN);
        self.expressions
    }

    fn path(&self, file: usize) -> String {
        match file {
            0 => format!("{}/{}", self.root, self.script),
            1 => format!("{}/{}/{}", self.root, self.folder, self.module),
            2 => format!("{}/store/util.py", self.root),
            _ => format!("{}/{}/util.py", self.root, self.folder),
        }
    }

    /// Behind which nothing may be put: of a script there is `main`.
    fn end(&self, file: usize) -> usize {
        if file == 0 { self.files[0].len() } else { self.files[file].len() - 1 }
    }

    fn edit(&mut self, edit: Edit, random: &mut Random) {
        if self.is_done {
            return;
        }
        self.edits += 1;
        let file = random.below(EDITED_FILES);
        let at = random.below(self.files[file].len());
        match edit {
            Edit::Remarks => self.files[file][at].above += 1 + random.below(6),
            Edit::RemarksInside => {
                let item = &mut self.files[file][at];
                // Of two expressions of one text only the line tells which is which: a test of its own is below.
                let is_told_by_line = item.kind == Kind::Plain
                    && item.expressions.len() == 2
                    && item.expressions[0].text == item.expressions[1].text;
                let lines = 1 + random.below(4);
                match item.kind {
                    Kind::Lambda => item.above += lines,
                    _ if is_told_by_line => item.above += lines,
                    _ => item.inside += lines,
                }
            }
            Edit::NewFunction => {
                let kind = random.of(&KINDS);
                let name = format!("n{}", self.items);
                let item = self.item(kind, name, random);
                let call = random.below(self.calls.len() + 1);
                self.calls.insert(call, item.number);
                let position = random.below(self.end(file) + 1);
                self.files[file].insert(position, item);
            }
            Edit::MovedFunction => {
                // Those of one name stay in their order: nothing else tells which is which.
                let item = &self.files[file][at];
                if !item.kind.shares_its_name() && item.name != LAST {
                    let item = self.files[file].remove(at);
                    let position = random.below(self.end(file) + 1);
                    self.files[file].insert(position, item);
                }
            }
            Edit::DeletedFunction => {
                let (items, item) = (&self.files[file], &self.files[file][at]);
                let is_registered = item.kind == Kind::Registered;
                // Of two that are alike to the letter nobody knows which is left: `difference_identity` has them.
                let is_copy = |other: &Item| {
                    let is_alike = other.kind == item.kind && other.expressions[0].text == item.expressions[0].text;
                    is_alike && other.number != item.number
                };
                let is_told = !is_registered || self.edits == 1 && !items.iter().any(is_copy);
                if item.name != LAST && items.len() > 1 && is_told {
                    let item = self.files[file].remove(at);
                    self.calls.retain(|number| *number != item.number);
                    self.is_done = is_registered;
                }
            }
            Edit::ReorderedFunctions => {
                for items in &mut self.files {
                    let is_lambda = |at: &usize| items[*at].kind == Kind::Lambda;
                    let lambdas: Vec<usize> = (0..items.len()).filter(is_lambda).collect();
                    if let [first, .., last] = lambdas[..] {
                        items.swap(first, last);
                    }
                }
            }
            Edit::RenamedFunction => {
                let item = &self.files[file][at];
                if !item.kind.shares_its_name() && item.name != LAST {
                    let count = item.expressions.len();
                    let numbers: Vec<u32> = (0..count).map(|_| self.next_expression()).collect();
                    let item = &mut self.files[file][at];
                    item.name = format!("g{}", numbers[0]);
                    for (expression, number) in item.expressions.iter_mut().zip(numbers) {
                        expression.number = number;
                    }
                }
            }
            // Two moves of a module at once leave only its base name, which two modules have.
            Edit::OtherRoot if self.folder == "shop" => self.root = "/srv/new",
            Edit::OtherFolder if self.root == "/app" => self.folder = "market",
            Edit::OtherRoot | Edit::OtherFolder => {}
            Edit::OtherScript => self.script = "tool.py",
            // Nothing but the script is the same file under another name, so all in it is new.
            Edit::OtherModule => {
                self.module = "tools.py";
                let mut items = std::mem::take(&mut self.files[1]);
                for expression in items.iter_mut().flat_map(|item| &mut item.expressions) {
                    expression.number = self.next_expression();
                }
                self.files[1] = items;
            }
            // It is found by its text, so that is as it was.
            Edit::TakenName if self.edits == 1 => {
                self.module = OLD_MODULE;
                let mut item = self.item(Kind::Plain, "taken".to_string(), random);
                item.expressions.truncate(1);
                self.calls.push(item.number);
                self.files[EDITED_FILES].push(item);
                self.is_done = true;
            }
            Edit::TakenName => {}
            Edit::OtherPython => self.python = if self.python == "3.13.0" { "3.11.9" } else { "3.13.0" },
        }
    }

    /// By chance a recording meets some expressions only, and others than the one before. Functions that are alike to the letter are all met: of one
    /// of them nobody knows which one it is.
    fn meet_some(&mut self, random: &mut Random) {
        let edited = self.files[..EDITED_FILES].iter().flatten();
        let items = edited.filter(|item| item.kind != Kind::Registered && item.name != LAST);
        let numbers = items.flat_map(|item| &item.expressions).map(|expression| expression.number);
        self.unmet = numbers.filter(|_| random.next() < UNMET_PART).collect();
    }

    fn called(&self, number: u32) -> (usize, &Item) {
        let in_file = |file: usize| self.files[file].iter().find(|item| item.number == number);
        let found = (0..self.files.len()).find_map(|file| Some((file, in_file(file)?)));
        found.expect("main calls what there is")
    }

    fn written(&self) -> Written {
        let mut known = BTreeMap::new();
        let mut files: Vec<Source> = Vec::new();
        for (file, items) in self.files.iter().enumerate() {
            let mut source = Source { path: self.path(file), lines: Vec::new(), functions: Functions::new() };
            if !items.is_empty() || file < EDITED_FILES {
                source.line("import data");
            }
            for item in items {
                for (expression, name, below) in source.item(item, self.python) {
                    let Expression { number, text } = expression;
                    known.insert(number, Known { file, name, text, stack: below.join(" > ") });
                }
            }
            files.push(source);
        }
        let script = &mut files[0];
        let main = script.line("def main(data):");
        script.line("    for by in TABLE:");
        let by = script.line("        by(data)");
        let by = script.frame("main", main, by, "by(data)");
        let mut callers: BTreeMap<u32, String> = BTreeMap::new();
        for number in &self.calls {
            let (file, item) = self.called(*number);
            let mut caller = by.clone();
            for (at, expression) in item.expressions.iter().enumerate() {
                if !item.kind.shares_its_name() && (at == 0 || item.kind == Kind::Class) {
                    let module = ["", "shop.", "store.", "taken."][file];
                    let call = match item.kind {
                        Kind::Class => format!("{module}{}().{}(data)", item.name, METHODS[at]),
                        // Of getter and setter.
                        Kind::Property => format!("{module}{}().value += data", item.name),
                        _ => format!("{module}{}(data)", item.name),
                    };
                    let line = script.line(format!("    {call}"));
                    caller = script.frame("main", main, line, &call);
                }
                callers.insert(expression.number, caller.clone());
            }
        }
        let end = script.line("main([1])");
        let module = script.frame("<module>", 1, end, "main([1])");
        for (number, known) in &mut known {
            known.stack = format!("{module} > {} > {}", callers[number], known.stack);
        }
        known.retain(|number, _| !self.unmet.contains(number));
        for file in files.iter_mut().filter(|file| !file.lines.is_empty()) {
            file.functions = met_functions(&known, &file.path);
        }
        Written { files, known }
    }
}

/// First lines by qualified names.
type Functions = BTreeMap<String, BTreeSet<u32>>;

/// Those of that file that are in a stack.
fn met_functions(known: &BTreeMap<u32, Known>, path: &str) -> Functions {
    let mut functions = Functions::new();
    for frame in known.values().flat_map(|known| known.stack.split(" > ")) {
        let (name, rest) = frame.split_once('^').expect("a name");
        let (first_line, place) = rest.split_once('@').expect("a first line");
        let is_of_file = place.rsplit_once(':').is_some_and(|(file, _)| file == path);
        // A comprehension belongs to the function around it.
        if is_of_file && !name.ends_with("<listcomp>") {
            functions.entry(name.to_string()).or_default().insert(first_line.parse().expect("a number"));
        }
    }
    functions
}

struct Source {
    path: String,
    lines: Vec<String>,
    /// Those that are met.
    functions: Functions,
}

impl Source {
    /// Its number.
    fn line(&mut self, text: impl Into<String>) -> u32 {
        self.lines.push(text.into());
        self.lines.len() as u32
    }

    fn remarks(&mut self, count: usize) {
        for _ in 0..count {
            self.line("    # a remark");
        }
    }

    /// At the first such text of that line.
    fn frame(&self, name: &str, first_line: u32, line: u32, text: &str) -> String {
        let start = self.lines[line as usize - 1].find(text).expect("the expression is in its line");
        format!("{name}^{first_line}@{}:{line}[{start}-{}]", self.path, start + text.len())
    }

    /// Each expression with the name of its function, and with the frames from the item on, the outermost first.
    fn item(&mut self, item: &Item, python: &str) -> Vec<(Expression, String, Vec<String>)> {
        for _ in 0..item.above {
            self.line("# a remark");
        }
        let name = item.name.as_str();
        let mut found = Vec::new();
        match item.kind {
            Kind::Plain => {
                let first = self.line(format!("def {name}(data):"));
                self.remarks(item.inside);
                for expression in &item.expressions {
                    let line = self.line(format!("    {}", expression.text));
                    found.push((*expression, name.to_string(), vec![self.frame(name, first, line, expression.text)]));
                }
            }
            Kind::Class => {
                self.line(format!("class {name}:"));
                self.remarks(item.inside);
                for (method, expression) in METHODS.iter().zip(&item.expressions) {
                    let name = format!("{name}.{method}");
                    let first = self.line(format!("    def {method}(self, data):"));
                    let line = self.line(format!("        {}", expression.text));
                    let frame = self.frame(&name, first, line, expression.text);
                    found.push((*expression, name, vec![frame]));
                }
            }
            Kind::Nested | Kind::NestedLambda => {
                let [outer, inner] = [item.expressions[0], item.expressions[1]];
                let first = self.line(format!("def {name}(data):"));
                self.remarks(item.inside);
                let (inner_name, inner_first, inner_line) = if item.kind == Kind::Nested {
                    let first = self.line("    def inner(data):");
                    (format!("{name}.<locals>.inner"), first, self.line(format!("        {}", inner.text)))
                } else {
                    let line = self.line(format!("    inner = lambda data: {}", inner.text));
                    (format!("{name}.<locals>.<lambda>"), line, line)
                };
                let call = self.line(format!("    {}", outer.text));
                let of_outer = self.frame(name, first, call, outer.text);
                let of_inner = self.frame(&inner_name, inner_first, inner_line, inner.text);
                found.push((outer, name.to_string(), vec![of_outer.clone()]));
                found.push((inner, inner_name, vec![of_outer, of_inner]));
            }
            Kind::Comprehension => {
                let expression = item.expressions[0];
                let first = self.line(format!("def {name}(data):"));
                self.remarks(item.inside);
                let whole = format!("[{} for data in data]", expression.text);
                let line = self.line(format!("    return {whole}"));
                let frames = if python.starts_with("3.11") {
                    let part = format!("{name}.<locals>.<listcomp>");
                    vec![self.frame(name, first, line, &whole), self.frame(&part, line, line, expression.text)]
                } else {
                    vec![self.frame(name, first, line, expression.text)]
                };
                found.push((expression, name.to_string(), frames));
            }
            Kind::Lambda => {
                let expression = item.expressions[0];
                let line = self.line(format!("by_{} = lambda data: {}", item.number, expression.text));
                let frame = self.frame("<lambda>", line, line, expression.text);
                found.push((expression, "<lambda>".to_string(), vec![frame]));
            }
            Kind::Registered => {
                let expression = item.expressions[0];
                // A function begins at its decorator.
                let first = self.line("@handle.register");
                self.line("def _(data):");
                self.remarks(item.inside);
                let line = self.line(format!("    {}", expression.text));
                let frame = self.frame("_", first, line, expression.text);
                found.push((expression, "_".to_string(), vec![frame]));
            }
            Kind::Property => {
                self.line(format!("class {name}:"));
                self.remarks(item.inside);
                let name = format!("{name}.value");
                for ((decorator, head), expression) in ACCESSORS.iter().zip(&item.expressions) {
                    let first = self.line(format!("    {decorator}"));
                    self.line(format!("    {head}"));
                    let line = self.line(format!("        {}", expression.text));
                    let frame = self.frame(&name, first, line, expression.text);
                    found.push((*expression, name.clone(), vec![frame]));
                }
            }
            Kind::Arms => {
                let arms = [format!("if FLAG_{}:", item.number), "else:".to_string()];
                for (arm, expression) in arms.into_iter().zip(&item.expressions) {
                    self.line(arm);
                    let first = self.line(format!("    def {name}(data):"));
                    self.remarks(item.inside);
                    let line = self.line(format!("        {}", expression.text));
                    let frame = self.frame(name, first, line, expression.text);
                    found.push((*expression, name.to_string(), vec![frame]));
                }
            }
        }
        self.line("");
        found
    }
}

/// What is known of an expression by its number.
struct Known {
    file: usize,
    name: String,
    text: &'static str,
    stack: String,
}

struct Written {
    files: Vec<Source>,
    known: BTreeMap<u32, Known>,
}

impl Written {
    /// The expressions were met in any order.
    fn notation(&self, program: &Program, key: u32, random: &mut Random) -> String {
        let Program { python, root, script, .. } = program;
        let mut text = format!("process 7 {python} cwd={root} key={key} argv=python3+{script}\n");
        for file in self.files.iter().filter(|file| !file.lines.is_empty()) {
            text += &format!("source {}\n", file.path);
            file.lines.iter().for_each(|line| text += &format!("|{line}\n"));
        }
        let samples = |(number, known): (&u32, &Known)| format!("{} x{}\n", known.stack, Expression::samples(*number));
        let mut stacks: Vec<String> = self.known.iter().map(samples).collect();
        for at in (1..stacks.len()).rev() {
            stacks.swap(at, random.below(at + 1));
        }
        text + &stacks.concat()
    }

    /// None: no samples. An error: not those of one expression.
    fn expression_of(&self, samples: u64) -> Result<Option<u32>, u64> {
        if samples == 0 {
            return Ok(None);
        }
        let number = self.known.keys().copied().find(|number| Expression::samples(*number) == samples);
        number.map(Some).ok_or(samples)
    }

    /// Of the functions of that name, or of their expressions with that text.
    fn all_of(&self, file: usize, name: &str, text: Option<&str>) -> BTreeSet<u32> {
        let is_of =
            |known: &Known| known.file == file && known.name == name && text.is_none_or(|text| known.text == text);
        self.known.iter().filter(|(_, known)| is_of(known)).map(|(number, _)| *number).collect()
    }
}

fn samples_of(expressions: &BTreeSet<u32>) -> u64 {
    expressions.iter().map(|number| Expression::samples(*number)).sum()
}

fn samples(value: f64) -> u64 {
    (value / SAMPLE_NS).round() as u64
}

/// Whether docs/reading/diff.md says that the functions of that name are told apart.
fn is_told(name: &str, before: &Functions, after: &Functions) -> bool {
    let (Some(a), Some(b)) = (before.get(name), after.get(name)) else { return true };
    let count = |functions: &Functions, name: &str| functions.get(name).map_or(0, BTreeSet::len);
    let is_alone = |name: &str| !name.ends_with("<lambda>") && count(before, name).max(count(after, name)) < 2;
    let has_moved = |other: &String, lines: &BTreeSet<u32>| after.get(other).is_some_and(|found| found != lines);
    let have_others_moved = before.iter().any(|(other, lines)| is_alone(other) && has_moved(other, lines));
    match have_others_moved {
        _ if a == b => true,
        true => a.len() == b.len(),
        false => a.is_subset(b) || b.is_subset(a),
    }
}

/// Several kinds of items have that name.
fn is_of_many(name: &str) -> bool {
    name.ends_with("<lambda>") || name == "_"
}

/// What the random programs had.
#[derive(Debug, Default)]
struct Counted {
    on_both_sides: usize,
    on_one_side: usize,
    /// Functions of one name that were moved, and were told apart.
    told_apart: usize,
    /// The same of getters, setters and arms of an `if`.
    pairs_told_apart: usize,
    /// A getter that one side met, and the setter that the other did.
    met_apart: usize,
    /// Rows of a module whose name another one took.
    of_taken_name: usize,
    merged: usize,
    /// Of those, where all were met and what was moved around them tells which is which: a piece between two edits may have no line of its own.
    merged_needlessly: usize,
    functions: usize,
}

fn check(before: &Program, after: &Program, case: &str, random: &mut Random, counted: &mut Counted) {
    let (old, new) = (before.written(), after.written());
    let a = runs("before", &[old.notation(before, 1, random)]);
    let b = runs("after", &[new.notation(after, 2, random)]);
    let all = comparison(&a, &b, Some(Weight::Cpu));
    let found = &all.difference;
    // A row has the path of B, and of A where only A has it. A module that got another name is two, unless another one took its name.
    let is_taken = after.module == OLD_MODULE;
    let is_two = |file: usize| file == 1 && before.module != after.module && !is_taken;
    let file_of = |path: &str, row: &Row| {
        let written = if row.samples_after == 0 { &old } else { &new };
        let file = written.files.iter().position(|file| file.path == path && !file.lines.is_empty());
        file.unwrap_or_else(|| panic!("{case}: {path} is a file of its own"))
    };
    // Of those that are one nobody knows the lines.
    let mut merged: BTreeSet<(usize, &str)> = BTreeSet::new();
    let mut named: BTreeSet<(&str, &str)> = BTreeSet::new();
    for row in &found.rows {
        let Subject::Code { code, .. } = &row.subject else { continue };
        if code.line.is_none() {
            merged.insert((file_of(&code.file, row), code.function.as_str()));
            named.insert((code.file.as_str(), code.function.as_str()));
        }
    }
    let told_of: BTreeSet<(&str, &str)> =
        found.merged.iter().map(|(path, name)| (path.as_str(), name.as_str())).collect();
    // Two CPythons have one row for each function, whose lines nobody compares.
    let is_one_python = before.python == after.python;
    if is_one_python {
        assert_eq!(named, told_of, "{case}");
    }
    let are_all_met = before.unmet.is_empty() && after.unmet.is_empty() && is_one_python;
    for (file, name) in &merged {
        counted.merged += 1;
        // Of other names it depends on what else was moved beside them, and on what of that was met.
        if !are_all_met || !is_of_many(name) {
            continue;
        }
        let (old, new) = (&old.files[*file].functions, &new.files[*file].functions);
        if is_told(name, old, new) {
            println!("{case}: {name} of {file} is merged: {:?}, {:?}", old.get(*name), new.get(*name));
            counted.merged_needlessly += 1;
        }
    }
    let code = |subject: &Subject| -> Code {
        match subject {
            Subject::Code { code, .. } => code.clone(),
            Subject::Phase(_) | Subject::NoPython => panic!("{case}: {subject:?}"),
        }
    };
    let (mut seen_before, mut seen_after) = (BTreeSet::new(), BTreeSet::new());
    // Of names of which some functions are told apart, and all others are one.
    let mut told = BTreeSet::new();
    let mut untold: BTreeMap<(usize, String, Option<String>), (u64, u64)> = BTreeMap::new();
    for row in &found.rows {
        let code = code(&row.subject);
        let (file, name) = (file_of(&code.file, row), code.function.as_str());
        let of_row = (samples(row.estimate.before), samples(row.estimate.after));
        if merged.contains(&(file, name)) {
            match (old.expression_of(of_row.0), new.expression_of(of_row.1)) {
                (Ok(Some(a)), Ok(Some(b))) if a == b => {
                    assert_eq!((old.known[&a].file, old.known[&a].name.as_str()), (file, name), "{case}: {code:?}");
                    told.insert(a);
                }
                _ => {
                    let sums = untold.entry((file, name.to_string(), code.expression.clone())).or_default();
                    *sums = (sums.0 + of_row.0, sums.1 + of_row.1);
                }
            }
            continue;
        }
        let one = |written: &Written, samples: u64| {
            let found = written.expression_of(samples);
            found.unwrap_or_else(|samples| panic!("{case}: {code:?} has {samples} samples, those of no expression"))
        };
        let (a, b) = (one(&old, of_row.0), one(&new, of_row.1));
        for (number, written) in [(a, &old), (b, &new)] {
            if let Some(number) = number {
                let known = &written.known[&number];
                assert_eq!(
                    (known.file, known.name.as_str()),
                    (file, name),
                    "{case}: {code:?} has the time of another one"
                );
            }
        }
        assert!(a == b || a.is_none() || b.is_none(), "{case}: {code:?} compares {a:?} with {b:?}");
        let (stays, stayed) =
            (a.filter(|number| new.known.contains_key(number)), b.filter(|number| old.known.contains_key(number)));
        assert_eq!(stays, stayed, "{case}: {code:?} is not found again");
        seen_before.extend(a);
        seen_after.extend(b);
        let is_on_both = a.is_some() && b.is_some();
        counted.on_both_sides += usize::from(is_on_both);
        counted.of_taken_name += usize::from(is_on_both && is_taken && file == 1);
        counted.on_one_side += usize::from(!is_on_both);
        let lines = |written: &Written| written.files[file].functions.get(name).cloned().unwrap_or_default();
        let (lines_before, lines_after) = (lines(&old), lines(&new));
        let is_told_apart = is_on_both && lines_before.len() > 1 && lines_before != lines_after;
        counted.told_apart += usize::from(is_told_apart);
        let is_met_apart = !is_on_both && !is_two(file) && lines_before.len() == 1 && lines_after.len() == 1;
        counted.met_apart += usize::from(is_met_apart && name.ends_with(".value"));
        counted.pairs_told_apart += usize::from(is_told_apart && !is_of_many(name));
    }
    seen_before.extend(&told);
    seen_after.extend(&told);
    for ((file, name, text), sums) in untold {
        let rest = |written: &Written| -> BTreeSet<u32> {
            let all = written.all_of(file, &name, text.as_deref());
            all.difference(&told).copied().collect()
        };
        let (a, b) = (rest(&old), rest(&new));
        assert_eq!(sums, (samples_of(&a), samples_of(&b)), "{case}: {name} of {file}: {text:?} is not all of its name");
        seen_before.extend(a);
        seen_after.extend(b);
    }
    // Nothing is missing, and as there are as many rows as expressions, nothing is twice.
    assert_eq!(seen_before, old.known.keys().copied().collect::<BTreeSet<u32>>(), "{case}: before");
    assert_eq!(seen_after, new.known.keys().copied().collect::<BTreeSet<u32>>(), "{case}: after");
    let sum = |side: fn(&Row) -> f64| found.rows.iter().map(|row| samples(side(row))).sum::<u64>();
    assert_eq!(sum(|row| row.estimate.before), samples_of(&seen_before), "{case}: before");
    assert_eq!(sum(|row| row.estimate.after), samples_of(&seen_after), "{case}: after");
    for row in &found.functions {
        let code = code(&row.subject);
        let (file, name) = (file_of(&code.file, row), code.function.as_str());
        let of_row = (samples(row.estimate.before), samples(row.estimate.after));
        counted.functions += 1;
        // Of one name there are several here, each with one expression.
        let lines = |written: &Written| written.files[file].functions.get(name).map_or(0, BTreeSet::len);
        if !merged.contains(&(file, name)) && lines(&old).max(lines(&new)) > 1 {
            let is_of_one = |written: &Written, samples: u64| {
                let all = written.all_of(file, name, None);
                samples == 0 || all.iter().any(|number| Expression::samples(*number) == samples)
            };
            let are_of_one = is_of_one(&old, of_row.0) && is_of_one(&new, of_row.1);
            assert!(are_of_one, "{case}: the function {code:?} has {of_row:?}, those of several");
            continue;
        }
        let of_side = |written: &Written| {
            let has_it = !is_two(file) || written.files[file].path == code.file;
            if has_it { samples_of(&written.all_of(file, name, None)) } else { 0 }
        };
        let all = (of_side(&old), of_side(&new));
        // Of a name of which some functions are told apart, this may be one of them, or the others.
        let is_part = merged.contains(&(file, name)) && of_row.0 <= all.0 && of_row.1 <= all.1;
        assert!(of_row == all || is_part, "{case}: the function {code:?} has {of_row:?}, and not {all:?}");
    }
}

#[test]
fn a_row_is_the_same_code_on_both_sides_or_it_is_not_compared() {
    let mut counted = Counted::default();
    for seed in 0..PROGRAMS {
        let mut random = Random(seed * 1_000_003);
        let mut before = Program::made(&mut random);
        let mut after = before.clone();
        let edits: Vec<Edit> = (0..1 + random.below(3)).map(|_| random.of(&EDITS)).collect();
        edits.iter().for_each(|edit| after.edit(*edit, &mut random));
        if seed % 2 == 1 {
            before.meet_some(&mut random);
            after.meet_some(&mut random);
        }
        check(&before, &after, &format!("seed {seed}, {edits:?}"), &mut random, &mut counted);
    }
    println!("{counted:?}");
    let Counted {
        on_both_sides,
        on_one_side,
        told_apart,
        pairs_told_apart,
        met_apart,
        of_taken_name,
        merged,
        merged_needlessly,
        functions,
    } = counted;
    // A test that met none of them would prove nothing of them.
    let all = [on_both_sides, on_one_side, told_apart, pairs_told_apart, met_apart, of_taken_name, merged, functions];
    assert!(all.into_iter().all(|count| count >= 5), "{all:?}");
    // Refused where it need not be is no false claim, and has to be seldom.
    assert!(merged_needlessly as u64 <= PROGRAMS / 100, "{merged_needlessly} of {PROGRAMS} programs");
}

/// Whatever is edited alone, and the same program without an edit: what failed above is easier to see here.
#[test]
fn each_edit_alone_keeps_the_rows() {
    for (at, edit) in EDITS.iter().enumerate() {
        for seed in 0..8 {
            let mut random = Random(7_919 * (seed + 8 * at as u64));
            let before = Program::made(&mut random);
            let mut after = before.clone();
            let mut counted = Counted::default();
            check(&before, &after, &format!("seed {seed}, no edit"), &mut random, &mut counted);
            after.edit(*edit, &mut random);
            check(&before, &after, &format!("seed {seed}, {edit:?}"), &mut random, &mut counted);
            assert_eq!(counted.merged_needlessly, 0, "seed {seed}, {edit:?}");
        }
    }
}

/// A remark above two calls of one text moves the first to the line where the second was.
#[test]
fn two_expressions_of_one_text_do_not_change_places() {
    let of = |key: u32, remarks: usize| {
        let mut text = format!("process 7 3.13.0 cwd=/app key={key}\nsource /app/app.py\n|def f(data):\n");
        text += &"|    # a remark\n".repeat(remarks);
        text += "|    step(data)\n|    step(data)\n|f([1])\n";
        for (line, count) in [(2, 300), (3, 900)] {
            text += &format!("<module>^1@app.py:{}[0-6] > f^1@app.py:{}[4-14] x{count}\n", 4 + remarks, line + remarks);
        }
        text
    };
    for remarks in [0, 1, 2, 7] {
        let (before, after) = (runs("before", &[of(1, 0)]), runs("after", &[of(2, remarks)]));
        let rows = told(&comparison(&before, &after, None));
        let same = format!("step(data) ← <module>:{} +0 open", 4 + remarks);
        assert_eq!(rows, [same.clone(), same], "{remarks} remarks");
    }
}

/// Three lambdas, of which the samples of each recording met two: the rare ones by chance, not the same ones.
#[test]
fn a_rare_function_does_not_take_the_place_of_another_one_of_its_name() {
    let of = |key: u32, lambdas: [(u32, u32); 2], main: u32| {
        let mut text = format!("process 7 3.13.0 cwd=/app key={key}\nmain^{main}@app.py:{} x9\n", main + 1);
        for (line, count) in lambdas {
            text += &format!("main^{main}@app.py:{} > <lambda>^{line}@app.py:{line} x{count}\n", main + 2);
        }
        text
    };
    // In lines 3, 4 and 5, and with six lines more above them in 9, 10 and 11: the one that is hot is the second.
    let before = runs("before", &[of(1, [(3, 1), (4, 900)], 20)]);
    let after = runs("after", &[of(2, [(10, 900), (11, 1)], 26)]);
    let rows = told(&comparison(&before, &after, None));
    assert!(rows.iter().all(|row| row.ends_with("open")), "{rows:?}");
    // Nothing moved: the lines tell.
    let after = runs("after", &[of(2, [(4, 900), (5, 1)], 20)]);
    let rows = told(&comparison(&before, &after, None));
    assert!(rows.iter().all(|row| row.ends_with("open")), "{rows:?}");
}
