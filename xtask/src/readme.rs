//! Runs what a Markdown page shows, and compares what it shows.
//!
//! ````text
//! ```console          commands after `$ `, and under each what it prints;
//! $ overspill run x   `...` stands for any text in a line, alone on a line for any lines
//! ```
//! <!-- file: x -->    the next block is written to the file x, before the commands after it
//! <!-- from: x -->    the next block stands, word for word, in the repository's file x
//! <!-- untested: why -->  the next block is not run
//! ````
//!
//! Commands run by `bash` in a scratch folder, with the built programs in `PATH` and the folder
//! `target/guests` at hand as `guests`. What a command prints to its standard error is compared
//! only when the page shows it with `2>&1`.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

/// What was checked on a page.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Checked {
    /// Commands that ran and printed what the page shows.
    pub commands: usize,
    /// Excerpts that stand in the file that the page says.
    pub excerpts: usize,
}

/// Checks a page of the repository in `root`; commands run in `scratch`.
///
/// # Errors
/// The first command or excerpt that isn't as shown, with its line on the page.
pub fn check(page: &Path, root: &Path, scratch: &Path, path: &str) -> Result<Checked> {
    let text =
        fs::read_to_string(page).with_context(|| format!("can't read {}", page.display()))?;
    let mut checked = Checked::default();
    let mut groups = Groups::default();
    for block in blocks(&text)? {
        let place = format!("{}:{}", page.display(), block.line);
        match &block.mark {
            Mark::File(name) => fs::write(scratch.join(name), &block.body)
                .with_context(|| format!("{place}: can't write {name}"))?,
            Mark::From(name) => {
                let whole = fs::read_to_string(root.join(name))
                    .with_context(|| format!("{place}: can't read {name}"))?;
                ensure!(whole.contains(&block.body), "{place}: this doesn't stand in {name}");
                checked.excerpts += 1;
            }
            Mark::None if block.language == "console" => {
                for shown in commands(&block)? {
                    run(&shown, scratch, path, &mut groups)
                        .with_context(|| format!("{}:{}", page.display(), shown.line))?;
                    checked.commands += 1;
                }
            }
            Mark::Untested | Mark::None => {}
        }
    }
    Ok(checked)
}

#[derive(Debug, PartialEq, Eq)]
enum Mark {
    None,
    File(String),
    From(String),
    Untested,
}

#[derive(Debug)]
struct Block {
    language: String,
    mark: Mark,
    body: String,
    /// Of the fence, from 1.
    line: usize,
}

fn blocks(text: &str) -> Result<Vec<Block>> {
    let mut blocks = Vec::new();
    let mut mark = Mark::None;
    let mut lines = text.lines().zip(1..);
    while let Some((line, number)) = lines.next() {
        if let Some(comment) = line.strip_prefix("<!-- ").and_then(|l| l.strip_suffix(" -->")) {
            mark = match comment.split_once(": ") {
                Some(("file", name)) => Mark::File(name.to_owned()),
                Some(("from", name)) => Mark::From(name.to_owned()),
                Some(("untested", _)) => Mark::Untested,
                _ => bail!("line {number}: the mark `{comment}` is none of file, from, untested"),
            };
        } else if let Some(language) = line.strip_prefix("```") {
            let mut body = String::new();
            loop {
                match lines.next() {
                    Some(("```", _)) => break,
                    Some((line, _)) => body.push_str(&format!("{line}\n")),
                    None => bail!("line {number}: the block is not closed"),
                }
            }
            let mark = std::mem::replace(&mut mark, Mark::None);
            blocks.push(Block { language: language.to_owned(), mark, body, line: number });
        }
    }
    Ok(blocks)
}

#[derive(Debug, PartialEq, Eq)]
struct Shown {
    command: String,
    output: Vec<String>,
    line: usize,
}

fn commands(block: &Block) -> Result<Vec<Shown>> {
    let mut all: Vec<Shown> = Vec::new();
    for (line, number) in block.body.lines().zip(block.line + 1..) {
        match (line.strip_prefix("$ "), all.last_mut()) {
            (Some(command), _) => {
                all.push(Shown { command: command.to_owned(), output: Vec::new(), line: number });
            }
            (None, Some(last)) if last.output.is_empty() && last.command.ends_with('\\') => {
                last.command = format!("{}\n{line}", last.command);
            }
            (None, Some(last)) => last.output.push(line.to_owned()),
            (None, None) => bail!("line {number}: a console block starts with `$ `"),
        }
    }
    Ok(all)
}

/// What the commands of a page left running in the background ends with the page.
#[derive(Debug, Default)]
struct Groups(Vec<u32>);

impl Drop for Groups {
    fn drop(&mut self) {
        for group in &self.0 {
            // Most are gone already, which is no fault.
            let mut kill = Command::new("kill");
            kill.args(["-TERM", "--", &format!("-{group}")]).stderr(Stdio::null());
            let _ = kill.status();
        }
    }
}

fn run(shown: &Shown, scratch: &Path, path: &str, groups: &mut Groups) -> Result<()> {
    let child = Command::new("bash")
        .args(["-c", &shown.command])
        .current_dir(scratch)
        .env("PATH", path)
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .context("can't start bash")?;
    groups.0.push(child.id());
    let output = child.wait_with_output()?;
    let printed = String::from_utf8_lossy(&output.stdout);
    let complained = String::from_utf8_lossy(&output.stderr);
    let lines = printed.lines().map(str::trim_end).collect::<Vec<_>>();
    let wanted = shown.output.iter().map(|line| line.trim_end()).collect::<Vec<_>>();
    // A page may show a command that fails: then it shows what that prints.
    ensure!(
        output.status.success() || !wanted.is_empty(),
        "`{}` ended with {}:\n{printed}{complained}",
        shown.command,
        output.status
    );
    ensure!(
        lines_match(&wanted, &lines),
        "`{}` printed\n{printed}\nbut the page shows\n{}\n(standard error: {complained})",
        shown.command,
        wanted.join("\n"),
    );
    Ok(())
}

/// Whether `lines` are the `wanted` ones; `...` alone stands for any number of lines.
fn lines_match(wanted: &[&str], lines: &[&str]) -> bool {
    match wanted {
        [] => lines.is_empty(),
        ["..."] => true,
        ["...", rest @ ..] => (0..=lines.len()).any(|from| lines_match(rest, &lines[from..])),
        [first, rest @ ..] => lines
            .split_first()
            .is_some_and(|(line, lines)| line_matches(first, line) && lines_match(rest, lines)),
    }
}

/// Whether `line` is the `wanted` one; `...` stands for any text.
fn line_matches(wanted: &str, line: &str) -> bool {
    let Some((start, rest)) = wanted.split_once("...") else { return wanted == line };
    line.strip_prefix(start).is_some_and(|line| {
        (0..=line.len())
            .filter(|from| line.is_char_boundary(*from))
            .any(|from| line_matches(rest, &line[from..]))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_text(text: &str) -> Result<Checked> {
        let root = tempfile::tempdir()?;
        let page = root.path().join("README.md");
        fs::write(&page, text)?;
        fs::write(root.path().join("code.rs"), "fn a() {}\nfn b() {}\n")?;
        let path = std::env::var("PATH")?;
        check(&page, root.path(), root.path(), &path)
    }

    #[test]
    fn what_a_page_shows_must_happen() {
        let right = "```console\n$ printf 'a 12\\nb\\nc\\n'\na ...\n...\nc\n$ true\n```\n";
        let checked = check_text(right).expect("it is as shown");
        assert_eq!(checked, Checked { commands: 2, excerpts: 0 });
        for wrong in ["$ echo a\nb\n", "$ echo a\n", "$ echo a\na\nb\n", "$ false\n", "echo a\n"] {
            let page = format!("```console\n{wrong}```\n");
            assert!(check_text(&page).is_err(), "passed: {wrong}");
        }
    }

    #[test]
    fn a_marked_block_becomes_a_file_for_the_commands_after_it() {
        let page =
            "<!-- file: x.txt -->\n```toml\nhello\n```\n```console\n$ cat x.txt\nhello\n```\n";
        assert_eq!(check_text(page).expect("it is as shown").commands, 1);
    }

    #[test]
    fn an_excerpt_must_stand_in_its_file() {
        let page = |body| format!("<!-- from: code.rs -->\n```rust\n{body}\n```\n");
        assert_eq!(check_text(&page("fn b() {}")).expect("it is there").excerpts, 1);
        let error = check_text(&page("fn c() {}")).expect_err("it isn't there");
        assert!(error.to_string().contains("README.md:2: this doesn't stand in code.rs"));
    }

    #[test]
    fn what_runs_in_the_background_ends_with_the_page() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("pid");
        let command = format!("sleep 1000 > /dev/null 2>&1 & echo $! > {}", file.display());
        check_text(&format!("```console\n$ {command}\n```\n")).expect("it is as shown");
        let process = fs::read_to_string(file).expect("it ran");
        // What has ended has no command line, even while nobody has noticed its end.
        let line = || fs::read(format!("/proc/{}/cmdline", process.trim())).unwrap_or_default();
        let patience = std::time::Instant::now() + std::time::Duration::from_secs(5);
        while !line().is_empty() && std::time::Instant::now() < patience {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        assert!(line().is_empty(), "process {process} is still there");
    }

    #[test]
    fn other_blocks_and_untested_ones_are_not_run() {
        let page =
            "```rust\n$ false\n```\n<!-- untested: takes long -->\n```console\n$ false\n```\n";
        assert_eq!(check_text(page).expect("nothing ran"), Checked::default());
        assert!(check_text("<!-- nonsense -->\n").is_err());
        assert!(check_text("```console\n$ true\n").is_err());
    }
}
