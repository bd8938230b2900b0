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
    let output = [without.throughput(), with.throughput()];
    let offloaded = with.offloaded();
    let plot = |title, label: fn(f64) -> String, log, points: &[Vec<Point>; 2], dashed| {
        let mut lines = vec![
            Line { name: "back-pressure alone", class: "without", points: &points[0] },
            Line { name: "bursting", class: "with", points: &points[1] },
        ];
        if let Some(points) = dashed {
            lines.push(Line { name: "done by runners", class: "with dashed", points });
        }
        let (spike, seconds) = (report.spike_seconds, report.seconds());
        Plot { title, label, log, lines: &lines, spike, seconds }.figure()
    };
    [
        plot("Latency p99 of what came out (logarithmic)", milliseconds, true, &latency, None),
        plot("Events waiting, at the source and in queues", count, false, &waiting, None),
        plot(
            "Events per second that came out; dashed: those done by runners",
            count,
            false,
            &output,
            Some(offloaded.as_slice()),
        ),
    ]
    .concat()
}
