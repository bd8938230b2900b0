//! What the documentation says of error codes, and the examples.

use std::path::Path;

use overspill::pipeline::definition::{ERROR_CODES, Pipeline};

#[test]
fn every_code_has_a_page_and_every_page_a_code() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/errors");
    let mut pages: Vec<String> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.starts_with("OS"))
        .collect();
    pages.sort();
    let codes: Vec<String> = ERROR_CODES.iter().map(|(code, _)| format!("{code}.md")).collect();
    assert_eq!(pages, codes);
    for (code, _) in ERROR_CODES {
        let page = std::fs::read_to_string(folder.join(format!("{code}.md"))).unwrap();
        assert!(page.starts_with(&format!("# {code}: ")), "{code}");
        assert!(page.contains("## What to do"), "{code}");
    }
}

#[test]
fn the_example_pipelines_are_good_but_for_components_that_are_not_built() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples");
    let mut examples = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let file = entry.unwrap().path();
        if file.extension().is_none_or(|extension| extension != "toml") {
            continue;
        }
        examples += 1;
        if let Err(problems) = Pipeline::load(&file, &[]) {
            for problem in problems.iter() {
                let text = problem.to_string();
                assert!(text.contains("there is no file") && text.contains(".wasm"), "{text}");
            }
        }
    }
    assert!(examples >= 3);
}
