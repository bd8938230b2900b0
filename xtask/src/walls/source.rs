//! Which paths a Rust source names, seen through its `use` declarations.
//!
//! A source is read as tokens, so comments and strings name nothing, and what stands inside a
//! macro call counts like any other code. Items under `#[cfg(test)]` are left out: a test may read
//! a clock where the code may not.

use std::collections::BTreeMap;
use std::iter::Peekable;
use std::path::{Path, PathBuf};
use std::vec::IntoIter;

use anyhow::{Context, Result, anyhow};
use proc_macro2::{Delimiter, Span, TokenStream, TokenTree};

/// A path that a source names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Mention {
    /// In full, from the crate it starts in: `["std", "time", "Instant"]`; paths of the source's
    /// own crate start with `crate`.
    pub(super) path: Vec<String>,
    /// Whether it stands for all that is in it: `use std::time::*`.
    pub(super) glob: bool,
    /// Line, from 1.
    pub(super) line: usize,
}

impl Mention {
    /// Whether it reaches `wanted` (`std::time::Instant`), or something in it.
    pub(super) fn reaches(&self, wanted: &str) -> bool {
        let wanted = wanted.split("::").collect::<Vec<_>>();
        let same = self.path.iter().zip(&wanted).all(|(a, b)| a == b);
        same && (self.path.len() >= wanted.len() || self.glob)
    }
}

/// What was read from one source.
#[derive(Debug, Default)]
pub(super) struct Source {
    /// The paths it names.
    pub(super) mentions: Vec<Mention>,
    /// Modules in files of their own that are compiled for tests only.
    test_modules: Vec<String>,
}

/// Reads all sources in `folder`, or `folder` itself if it is a file; test modules left out.
/// `crate_root` is the `src` folder that module paths are counted from.
pub(super) fn read_folder(crate_root: &Path, folder: &Path) -> Result<Vec<(PathBuf, Source)>> {
    let mut files = Vec::new();
    list(folder, &mut files)?;
    let mut sources = Vec::new();
    let mut test_files = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(&file)
            .with_context(|| format!("can't read {}", file.display()))?;
        let module = module_of(crate_root, &file);
        let source = read(&text, &module).with_context(|| format!("in {}", file.display()))?;
        let folder = match file.file_name().and_then(|name| name.to_str()) {
            Some("mod.rs" | "lib.rs" | "main.rs") => file.with_file_name(""),
            _ => file.with_extension(""),
        };
        for name in &source.test_modules {
            test_files.push(folder.join(format!("{name}.rs")));
            test_files.push(folder.join(name));
        }
        sources.push((file, source));
    }
    sources.retain(|(file, _)| !test_files.iter().any(|test| file.starts_with(test)));
    Ok(sources)
}

fn list(path: &Path, into: &mut Vec<PathBuf>) -> Result<()> {
    if path.is_file() {
        into.push(path.to_owned());
        return Ok(());
    }
    let entries =
        std::fs::read_dir(path).with_context(|| format!("can't list {}", path.display()))?;
    let mut entries =
        entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>, std::io::Error>>()?;
    entries.sort();
    for entry in entries {
        if entry.is_dir() || entry.extension().is_some_and(|extension| extension == "rs") {
            list(&entry, into)?;
        }
    }
    Ok(())
}

/// `src/burst/mod.rs` is `crate::burst`, `src/burst/queue.rs` is `crate::burst::queue`.
fn module_of(crate_root: &Path, file: &Path) -> Vec<String> {
    let inside = file.strip_prefix(crate_root).unwrap_or(file).with_extension("");
    let mut module = vec!["crate".to_owned()];
    module.extend(inside.iter().map(|part| part.to_string_lossy().into_owned()));
    if module.last().is_some_and(|last| matches!(last.as_str(), "mod" | "lib" | "main")) {
        module.pop();
    }
    module
}

/// Reads one source, whose module is `module`.
pub(super) fn read(text: &str, module: &[String]) -> Result<Source> {
    let tokens: TokenStream = text.parse().map_err(|error| anyhow!("not Rust: {error}"))?;
    let mut reader = Reader::default();
    reader.walk(tokens, module);
    let imports = reader.imports;
    let mut source = Source { mentions: reader.imported, test_modules: reader.test_modules };
    for (mention, module) in reader.named {
        // A name that is imported twice, in two modules of the file, counts as both.
        match imports.get(&mention.path[0]) {
            Some(full) => source.mentions.extend(full.iter().map(|start| {
                let path = start.iter().chain(&mention.path[1..]).cloned().collect();
                Mention { path, ..mention.clone() }
            })),
            // A name by itself that is not imported is a variable or something of this module.
            None if mention.path.len() == 1 => {}
            None => source
                .mentions
                .push(Mention { path: absolute(mention.path.clone(), &module), ..mention }),
        }
    }
    source.mentions.sort();
    source.mentions.dedup();
    Ok(source)
}

/// `super::x` and `self::x`, counted from `module`.
fn absolute(path: Vec<String>, module: &[String]) -> Vec<String> {
    let mut base = module.to_vec();
    let mut rest = path.as_slice();
    let mut relative = false;
    while let [first, tail @ ..] = rest {
        match first.as_str() {
            "self" => {}
            "super" => drop(base.pop()),
            _ => break,
        }
        relative = true;
        rest = tail;
    }
    if relative { base.into_iter().chain(rest.iter().cloned()).collect() } else { path }
}

type Tokens = Peekable<IntoIter<TokenTree>>;

#[derive(Default)]
struct Reader {
    imports: BTreeMap<String, Vec<Vec<String>>>,
    imported: Vec<Mention>,
    named: Vec<(Mention, Vec<String>)>,
    test_modules: Vec<String>,
}

impl Reader {
    fn walk(&mut self, tokens: TokenStream, module: &[String]) {
        let mut tokens = tokens.into_iter().collect::<Vec<_>>().into_iter().peekable();
        // Whether the next name is a field, a method or a lifetime.
        let mut not_a_path = false;
        while let Some(token) = tokens.next() {
            match token {
                TokenTree::Punct(punct) if punct.as_char() == '#' => {
                    if let Some(TokenTree::Group(group)) = tokens.peek()
                        && group.delimiter() == Delimiter::Bracket
                    {
                        let attribute = group.stream();
                        tokens.next();
                        if is_for_tests_only(&attribute) {
                            self.skip_item(&mut tokens);
                        } else {
                            self.walk(attribute, module);
                        }
                    }
                }
                TokenTree::Punct(punct) => {
                    not_a_path = matches!(punct.as_char(), '.' | '\'');
                    // `..name` is a range or the rest of a struct.
                    if punct.as_char() == '.' && is_punct(tokens.peek(), '.') {
                        tokens.next();
                        not_a_path = false;
                    }
                    continue;
                }
                TokenTree::Ident(ident) if ident == "use" && !not_a_path => {
                    self.import_tree(&mut tokens, Vec::new(), module);
                }
                TokenTree::Ident(ident) if ident == "mod" => {
                    if let Some(TokenTree::Ident(name)) = tokens.next()
                        && let Some(TokenTree::Group(group)) = tokens.peek()
                    {
                        let inner = [module, &[name.to_string()]].concat();
                        self.walk(group.stream(), &inner);
                        tokens.next();
                    }
                }
                TokenTree::Ident(ident) if !not_a_path => {
                    let line = line_of(ident.span());
                    let path = path(&mut tokens, ident.to_string());
                    let mention = Mention { path, glob: false, line };
                    self.named.push((mention, module.to_vec()));
                }
                TokenTree::Group(group) => self.walk(group.stream(), module),
                TokenTree::Ident(_) | TokenTree::Literal(_) => {}
            }
            not_a_path = false;
        }
    }

    /// The part of a `use` declaration after `start`.
    fn import_tree(&mut self, tokens: &mut Tokens, mut start: Vec<String>, module: &[String]) {
        let mut line = 0;
        while let Some(token) = tokens.next() {
            match token {
                TokenTree::Ident(ident) if ident == "as" => {
                    without_self(&mut start);
                    if let Some(TokenTree::Ident(name)) = tokens.next() {
                        self.import(name.to_string(), start.clone(), line, module);
                        start.clear();
                    }
                }
                TokenTree::Ident(ident) => {
                    line = line_of(ident.span());
                    start.push(ident.to_string());
                }
                TokenTree::Punct(punct) => match punct.as_char() {
                    ':' => {}
                    '*' => {
                        let path = absolute(std::mem::take(&mut start), module);
                        let line = line_of(punct.span());
                        self.imported.push(Mention { path, glob: true, line });
                    }
                    _ => break,
                },
                TokenTree::Group(group) => {
                    let mut branch = Vec::new();
                    for token in group.stream() {
                        if matches!(&token, TokenTree::Punct(punct) if punct.as_char() == ',') {
                            let mut tokens = std::mem::take(&mut branch).into_iter().peekable();
                            self.import_tree(&mut tokens, start.clone(), module);
                        } else {
                            branch.push(token);
                        }
                    }
                    let mut tokens = branch.into_iter().peekable();
                    if tokens.peek().is_some() {
                        self.import_tree(&mut tokens, start.clone(), module);
                    }
                    start.clear();
                }
                TokenTree::Literal(_) => {}
            }
        }
        if let Some(name) = without_self(&mut start) {
            self.import(name, start, line, module);
        }
    }

    fn import(&mut self, name: String, path: Vec<String>, line: usize, module: &[String]) {
        let path = absolute(path, module);
        self.imports.entry(name).or_default().push(path.clone());
        self.imported.push(Mention { path, glob: false, line });
    }

    /// Passes over the item that a `#[cfg(test)]` stands before.
    fn skip_item(&mut self, tokens: &mut Tokens) {
        let mut module = false;
        let mut name = None;
        for token in tokens.by_ref() {
            match token {
                TokenTree::Ident(ident) if ident == "mod" => module = true,
                TokenTree::Ident(ident) if module => name = Some(ident.to_string()),
                TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => return,
                TokenTree::Punct(punct) if punct.as_char() == ';' => {
                    self.test_modules.extend(name);
                    return;
                }
                _ => {}
            }
        }
    }
}

/// Makes `std::time::self` `std::time`; the name it is then known by.
fn without_self(path: &mut Vec<String>) -> Option<String> {
    if path.len() > 1 && path.last().is_some_and(|last| last == "self") {
        path.pop();
    }
    path.last().cloned()
}

/// `#[cfg(test)]` and `#[cfg(all(test, ...))]`, not `#[cfg(not(test))]` or `#[cfg(any(test, ...))]`.
fn is_for_tests_only(attribute: &TokenStream) -> bool {
    let text = attribute.to_string().replace(' ', "");
    text == "cfg(test)" || text.starts_with("cfg(all(test,")
}

/// The path that goes on after `first`.
fn path(tokens: &mut Tokens, first: String) -> Vec<String> {
    let mut path = vec![first];
    loop {
        let mut ahead = tokens.clone();
        if !(is_punct(ahead.next().as_ref(), ':') && is_punct(ahead.next().as_ref(), ':')) {
            return path;
        }
        let Some(TokenTree::Ident(next)) = ahead.next() else { return path };
        path.push(next.to_string());
        *tokens = ahead;
    }
}

fn is_punct(token: Option<&TokenTree>, wanted: char) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == wanted)
}

fn line_of(span: Span) -> usize {
    span.start().line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reaches(text: &str, wanted: &str) -> bool {
        let module = ["crate", "burst", "queue"].map(str::to_owned);
        let source = read(text, &module).expect("the text is Rust");
        source.mentions.iter().any(|mention| mention.reaches(wanted))
    }

    #[test]
    fn a_path_is_seen_however_it_is_written() {
        for text in [
            "use std::time::Instant;",
            "use std::{fmt, time::{Duration, Instant}};",
            "use std::time; fn f() { time::Instant::now(); }",
            "use std as s; fn f() { s::time::Instant::now(); }",
            "use std::time::{self as t}; fn f() { t::Instant::now(); }",
            "use std::time::*;",
            "fn f() { let x = ::std::time::Instant::now(); }",
            "fn f() { println!(\"{:?}\", std::time::Instant::now()); }",
            "mod inner { pub(super) fn f(at: std::time::Instant) {} }",
            "#[cfg(not(test))] use std::time::Instant;",
            "const X: T = T { at: 1, ..std::time::Instant::now() };",
        ] {
            assert!(reaches(text, "std::time::Instant"), "not seen in: {text}");
        }
    }

    #[test]
    fn comments_strings_tests_and_other_names_are_not_paths() {
        for text in [
            "// std::time::Instant",
            "//! std::time::Instant",
            "/// [`std::time::Instant`]\nfn f() {}",
            "const X: &str = \"std::time::Instant\";",
            "#[cfg(test)] mod tests { use std::time::Instant; }",
            "use std::time::Duration;",
            "struct Instant; fn f(x: Instant) {}",
            "use crate::time::Instant;",
            "fn f(std: u8) { let x = std + 1; std.time(); }",
        ] {
            assert!(!reaches(text, "std::time::Instant"), "wrongly seen in: {text}");
        }
    }

    #[test]
    fn super_and_self_are_counted_from_the_module_of_the_file() {
        assert!(reaches("use super::super::target::Call;", "crate::target"));
        assert!(reaches("fn f(x: super::super::target::Call) {}", "crate::target"));
        assert!(reaches("mod a { use super::super::super::target::Call; }", "crate::target"));
        assert!(!reaches("mod a { use super::*; }", "crate::target"));
        assert!(!reaches("use super::target::Call;", "crate::target"));
    }
}
