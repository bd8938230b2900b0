//! Sets Flink up: Java, Flink's jars from PyPI, and the program that runs a query.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use sha2::{Digest as _, Sha256};

use crate::step;

const PACKAGE: &str = "apache-flink-libraries";
const VERSION: &str = "2.3.0";
/// The Java that Flink 2.3 is made for, and that the program is compiled for.
const JAVA: &str = "17";
const JAVA_PACKAGE: &str = "openjdk-17-jdk-headless";
const PROGRAM: &str = "NexmarkSql";

/// Flink, ready to run queries.
#[derive(Debug)]
pub(super) struct Flink {
    /// Where the jars are.
    jars: PathBuf,
    /// Where the compiled program is.
    classes: PathBuf,
    /// `17.0.15`.
    pub(super) java: String,
    /// The SHA-256 of each jar.
    pub(super) digests: BTreeMap<String, String>,
}

/// Flink, installed below `target/tools/` if it isn't there.
pub(super) fn flink() -> Result<Flink> {
    let java = java()?;
    let folder = crate::root().join("target/tools").join(format!("flink-{VERSION}"));
    let jars = folder.join("python/pyflink/lib");
    let done = folder.join("jars.json");
    if !done.exists() {
        install(&folder)?;
        fs::write(&done, serde_json::to_string_pretty(&digests(&jars)?)?)?;
    }
    let digests = serde_json::from_str(&fs::read_to_string(&done)?)
        .with_context(|| format!("{}: delete {}", done.display(), folder.display()))?;
    let flink = Flink { jars, classes: folder.join("classes"), java, digests };
    flink.compile()?;
    Ok(flink)
}

impl Flink {
    /// `Apache Flink 2.3.0`.
    pub(super) fn name(&self) -> String {
        format!("Apache Flink {VERSION}")
    }

    /// The SHA-256 of the list of the jars and theirs.
    pub(super) fn digest(&self) -> String {
        let lines: String =
            self.digests.iter().map(|(name, digest)| format!("{digest}  {name}\n")).collect();
        hex::encode(Sha256::digest(lines))
    }

    /// The program's own source and the tables it makes, with their SHA-256.
    pub(super) fn sources() -> Result<BTreeMap<String, String>> {
        let folder = super::folder().join("flink");
        let mut sources = BTreeMap::new();
        for name in [format!("{PROGRAM}.java"), "tables.sql".to_owned()] {
            let bytes = fs::read(folder.join(&name)).with_context(|| format!("reading {name}"))?;
            sources.insert(name, hex::encode(Sha256::digest(bytes)));
        }
        Ok(sources)
    }

    /// The program, with the arguments behind the tables.
    pub(super) fn program(&self, arguments: &[&OsStr]) -> Command {
        let mut command = Command::new("java");
        // Flink's serializers look into collections of the JDK.
        for package in ["java.util", "java.lang", "java.time"] {
            command.arg(format!("--add-opens=java.base/{package}=ALL-UNNAMED"));
        }
        command.args(["-Xmx3g", "-cp"]).arg(self.class_path());
        command.arg(PROGRAM).arg(super::folder().join("flink/tables.sql")).args(arguments);
        command
    }

    fn class_path(&self) -> String {
        format!("{}:{}/*", self.classes.display(), self.jars.display())
    }

    fn compile(&self) -> Result<()> {
        fs::create_dir_all(&self.classes)?;
        step::run(
            Command::new("javac")
                .args(["--release", JAVA, "-cp"])
                .arg(self.class_path())
                .arg("-d")
                .arg(&self.classes)
                .arg(super::folder().join(format!("flink/{PROGRAM}.java"))),
        )
    }
}

/// Unpacks the wheel with the jars; no package of Python is needed but pip itself.
fn install(folder: &Path) -> Result<()> {
    eprintln!("    installing {PACKAGE} {VERSION} from PyPI (330 MB) into {}", folder.display());
    let environment = folder.join("pip");
    step::run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&environment))
        .context("making a virtual environment; install Python 3 with its module `venv`")?;
    step::run(
        Command::new(environment.join("bin/python"))
            .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"])
            .args(["--only-binary", ":all:", "--no-compile", "--upgrade", "--target"])
            .arg(folder.join("python"))
            .arg(format!("{PACKAGE}=={VERSION}")),
    )
    .with_context(|| format!("installing {PACKAGE} {VERSION} from PyPI"))
}

fn digests(jars: &Path) -> Result<BTreeMap<String, String>> {
    let entries = fs::read_dir(jars).with_context(|| format!("reading {}", jars.display()))?;
    let mut digests = BTreeMap::new();
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        digests.insert(name, hex::encode(Sha256::digest(fs::read(entry.path())?)));
    }
    Ok(digests)
}

/// The version of Java, installed if it can be.
fn java() -> Result<String> {
    if let Some(version) = java_version() {
        return Ok(version);
    }
    eprintln!("    there is no Java {JAVA} with a compiler; trying Debian's {JAVA_PACKAGE}");
    let mut apt = Command::new("apt-get");
    apt.args(["install", "--yes", "--no-install-recommends", JAVA_PACKAGE]);
    // Whether it worked shows below.
    let _ = step::run(&mut apt);
    match java_version() {
        Some(version) => Ok(version),
        None => bail!(
            "Flink needs Java {JAVA} or later with its compiler (apt-get install {JAVA_PACKAGE})"
        ),
    }
}

/// The version of the Java on the path, if it has a compiler and isn't too old.
fn java_version() -> Option<String> {
    let said = |program: &str| {
        let mut command = Command::new(program);
        let output = command.arg("--version").stdin(Stdio::null()).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
    };
    said("java")?;
    // `javac 17.0.15`
    let version = said("javac")?.split_whitespace().nth(1)?.to_owned();
    let major: u32 = version.split('.').next()?.parse().ok()?;
    (major >= JAVA.parse().ok()?).then_some(version)
}
