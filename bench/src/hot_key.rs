//! How an aggregate operator with one hot key scales with the number of runners: its records need
//! no state, so that they can be worked on in many places at once.
//!
//! Each runner gets a tenth of a core, as a small cloud function does, by the processor quota of a
//! control group: so that two cores can show more than two runners.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use crate::harness::{self, Report};
use crate::program;

/// How many runners are tried.
const RUNNERS: [usize; 5] = [1, 2, 4, 8, 12];
/// The share of a core that a runner gets.
const SHARE: f64 = 0.1;
/// What a record costs: 10,000 rounds take about 20 µs.
const SETTINGS: &str = "settings = { iterations-per-record = 10_000 }\n";
/// Records for each runner of a run.
const RECORDS: usize = 12_000;

/// A folder of control groups that the runners are put into; removed at the end.
struct Groups {
    folder: PathBuf,
}

impl Groups {
    /// # Errors
    /// When the system has no processor quotas, or they can't be set.
    fn new() -> Result<Self> {
        let folder = PathBuf::from("/sys/fs/cgroup/cpu/overspill-bench");
        fs::create_dir_all(&folder).context(
            "hot-key needs control groups of version 1 with processor quotas, and the rights to \
             make one: run it as root on a machine that has them",
        )?;
        Ok(Self { folder })
    }

    /// A program that puts itself into a group of its own with a small quota, and then becomes
    /// the runner.
    fn runner(&self) -> Result<PathBuf> {
        let program = program::overspill()?.with_file_name("overspill-runner");
        ensure!(program.is_file(), "{} is missing: build it first", program.display());
        let period = 10_000;
        let script = program::scratch()?.join("small-runner");
        let text = format!(
            "#!/bin/sh\ngroup={}/$$\nmkdir \"$group\"\necho {period} >\"$group/cpu.cfs_period_us\"\n\
             echo {} >\"$group/cpu.cfs_quota_us\"\necho $$ >\"$group/cgroup.procs\"\n\
             exec {} \"$@\"\n",
            self.folder.display(),
            (SHARE * f64::from(period)) as u32,
            program.display(),
        );
        fs::write(&script, text)?;
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755))?;
        Ok(script)
    }
}

impl Drop for Groups {
    fn drop(&mut self) {
        for group in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            // A group of a runner that is just ending stays; it is empty and does no harm.
            let _ = fs::remove_dir(group.path());
        }
        let _ = fs::remove_dir(&self.folder);
    }
}

/// A pipeline with so many runners.
struct Case {
    runners: usize,
    pipeline: PathBuf,
}

/// What a run found.
struct Found {
    /// Records a second.
    rate: f64,
    /// Processor time of the host a record, in nanoseconds.
    host_cpu: f64,
}

impl Case {
    fn new(runners: usize, program: &Path) -> Result<Self> {
        let records = RECORDS * runners;
        let input = program::scratch()?.join(format!("hot-key-{runners}.txt"));
        let numbers: String = (0..records).map(|number| format!("{}\n", number % 1_000)).collect();
        fs::write(&input, numbers)?;
        let text = format!(
            "[source]\nkind = \"lines\"\npath = {input:?}\nbatch = {{ records = 256 }}\n\
             [[operator]]\nname = \"totals\"\ncomponent = {:?}\n{SETTINGS}\
             [operator.burst]\ntargets = [\"runner\"]\noffload = \"always\"\n\
             [[target]]\nname = \"runner\"\nkind = \"process\"\nmax_runners = {runners}\nslots = 1\n\
             program = {program:?}\n[sink]\nkind = \"count\"\n",
            program::guest("count-aggregate")?
        );
        Ok(Self { runners, pipeline: program::pipeline(&format!("hot-key-{runners}"), &text)? })
    }

    fn run(&self) -> Result<Found> {
        let summary = program::run(&self.pipeline)?;
        let records = (RECORDS * self.runners) as f64;
        let offloaded = program::number(&summary, "/offloaded_records")?;
        // The local lane runs stragglers again; what it answered doesn't count.
        ensure!(offloaded > records * 0.8, "only {offloaded} of {records} went away: {summary}");
        // From the first result on: the runners' starts are no part of how they scale.
        let from = program::number(&summary, "/burst/first_remote_result_ms")? / 1e3;
        let wall = program::number(&summary, "/wall_seconds")? - from;
        let cpu = program::number(&summary, "/cpu_seconds")?;
        Ok(Found { rate: offloaded / wall, host_cpu: cpu * 1e9 / records })
    }
}

/// Measures it.
///
/// # Errors
/// When a run fails, or the machine can't hold runners to a share of a core.
pub(crate) fn run(repeats: usize) -> Result<Report> {
    let groups = Groups::new()?;
    let runner = groups.runner()?;
    let cases: Vec<Case> =
        RUNNERS.iter().map(|&runners| Case::new(runners, &runner)).collect::<Result<_>>()?;
    let found = harness::interleaved(&cases, repeats, Case::run)?;
    let mut report = Report::new(
        "hot-key",
        format!(
            "one key, count-aggregate with about 20 µs a record, all of it in runner processes of \
             this machine that get {:.0}% of a core each; from the first result to the end",
            SHARE * 100.0
        ),
    );
    let mut one = 0.0;
    let mut last = 0.0;
    for (case, found) in cases.iter().zip(&found) {
        let rates: Vec<f64> = found.iter().map(|found| found.rate).collect();
        let costs: Vec<f64> = found.iter().map(|found| found.host_cpu).collect();
        let name = format!("{} runners", case.runners);
        let rate = report.figure(format!("{name}: records a second"), "1/s", &rates);
        last = report.figure(format!("{name}: host's processor time a record"), "ns", &costs);
        if case.runners == 1 {
            one = rate;
        } else {
            report.ratio(format!("{name}: rate over that of one"), rate / one, None);
        }
    }
    report.ratio(
        "runners of this size that one core of the host could feed",
        1e9 / last / one,
        None,
    );
    Ok(report)
}
