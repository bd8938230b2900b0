//! The report as one HTML page that needs nothing else: plots are SVG, colours follow the reader's
//! light or dark mode.

use std::fmt::Write as _;

use anyhow::Result;

use super::Point;
use super::plot::{Line, Plot};
use super::report::{Claim, Report, count, milliseconds};

const STYLE: &str = include_str!("page.css");

/// The page.
pub(super) fn html(report: &Report) -> Result<String> {
    let mut page = String::new();
    let ratio = report.ratios.spike_latency_p99;
    let (from, to) = report.spike_seconds;
    write!(
        page,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>Overspill: a burst</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n\
         <h1>A load spike, with and without bursting</h1>\n\
         <p>The same events through the same operator on the same machine, twice. The operator's \
         local lane takes a fixed number of events a second; from second {from:.0} to second \
         {to:.0} far more arrive. <b class=\"without\">Back-pressure alone</b> lets them wait at \
         the source. <b class=\"with\">Bursting</b> sends the overflow to runner processes, and \
         merges their answers in order. Latency counts from the moment an event was due.</p>\n\
         <p class=\"machine\">{}</p>\n<section class=\"cards\">\n",
        report.machine
    )?;
    for Claim { claim, met, measured } in &report.claims {
        let (class, word) = if *met { ("met", "met") } else { ("missed", "not met in this run") };
        writeln!(
            page,
            "<div class=\"card {class}\"><strong>{measured}</strong><span>{claim}</span>\
             <em>{word}</em></div>"
        )?;
    }
    writeln!(page, "</section>")?;
    page += &plots(report);
    writeln!(
        page,
        "<table>\n<thead><tr><th></th><th class=\"without\">back-pressure alone</th>\
         <th class=\"with\">bursting</th></tr></thead>\n<tbody>"
    )?;
    for (name, without, with) in report.rows()? {
        writeln!(page, "<tr><th>{name}</th><td>{without}</td><td>{with}</td></tr>")?;
    }
    writeln!(
        page,
        "</tbody>\n</table>\n<p>p99 of the spike's events: {ratio:.0} times lower with \
         bursting.</p>\n</main>\n</body>\n</html>"
    )?;
    Ok(page)
}

fn plots(report: &Report) -> String {
    let (without, with) = (&report.back_pressure, &report.bursting);
    let latency = [without.latency(), with.latency()];
    let waiting = [without.waiting(), with.waiting()];
    let output = [without.done(), with.done()];
    let (due, offloaded) = (with.due(), with.offloaded());
    let plot = |title, label: fn(f64) -> String, log, points: &[Vec<Point>; 2], more| {
        let mut lines = vec![
            Line { name: "back-pressure alone", class: "without", points: &points[0] },
            Line { name: "bursting", class: "with", points: &points[1] },
        ];
        lines.extend(more);
        let (spike, seconds) = (report.spike_seconds, report.seconds());
        Plot { title, label, log, lines: &lines, spike, seconds }.figure()
    };
    [
        plot("Latency p99 of what came out (logarithmic)", milliseconds, true, &latency, vec![]),
        plot("Events waiting, at the source and in queues", count, false, &waiting, vec![]),
        plot(
            "Events per second that came out; dashed: done by runners; grey: due",
            count,
            false,
            &output,
            vec![
                Line { name: "done by runners", class: "with dashed", points: &offloaded },
                Line { name: "due", class: "due", points: &due },
            ],
        ),
    ]
    .concat()
}

#[cfg(test)]
mod tests {
    use super::super::run::{Run, Sample};
    use super::*;
    use serde_json::json;

    /// A run whose queue takes `drain` seconds after the spike to empty.
    fn run(drain: f64, p99: f64) -> Run {
        let wait = |seconds: f64| match seconds {
            ..5.0 => 0.0,
            ..25.0 => (seconds - 5.0) / 20.0,
            _ => (1.0 - (seconds - 25.0) / drain).max(0.0),
        };
        let sample = |tenth: u32| {
            let seconds = f64::from(tenth) / 10.0;
            Sample {
                seconds,
                waiting_records: wait(seconds) * p99 * 100.0,
                latency_ms: Some(1.0 + wait(seconds) * p99),
                due: 6_000.0,
                done: 8_000.0,
                offloaded: 2_000.0,
            }
        };
        Run {
            summary: json!({
                "latency_ms": {"p50": 1.0, "p99": p99, "max": p99},
                "spike_latency_ms": {"p50": p99 / 2.0, "p99": p99},
                "peak_queue_records": p99 * 100.0, "records_per_second": 60_000.0,
                "wall_seconds": 25.0 + drain, "records_in": 1000, "lost": 0,
                "offloaded_records": 5, "duplicates_dropped": 0,
                "burst": {"onset_ms": 5000.0, "first_offload_ms": 5004.0,
                          "first_remote_result_ms": 5090.0},
            }),
            samples: (0..((25.0 + drain) * 10.0) as u32).map(sample).collect(),
        }
    }

    #[test]
    fn the_page_needs_nothing_else() {
        let report = Report::new(run(60.0, 50_000.0), run(5.0, 30.0), (5.0, 25.0)).expect("whole");
        let page = html(&report).expect("it can be written");
        assert_eq!(page.matches("<svg").count(), 3);
        assert_eq!(page.matches("<polyline").count(), 2 + 2 + 4);
        for outside in ["http:", "https:", "src=", "href=", "@import", "url("] {
            assert!(!page.contains(outside), "the page refers to something by {outside}");
        }
        assert!(!page.contains("NaN") && !page.contains("inf"), "{page}");
    }
}
