//! The house rules that would otherwise be wishes, checked on every file of the repository.
//!
//! The rules are in `rules.rs`, pure functions of a list of files; here they are applied to the files that git
//! tracks or would track. `planted.rs` proves that each rule can fail. What a rule is wrong about is listed below.

mod arrows;
mod planted;
mod rules;

use std::path::Path;
use std::process::Command;

use rules::File;

/// Every file of the repository that is tracked or could be added, with its text (empty when it is not UTF-8).
fn repository() -> Vec<File> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let listed = Command::new("git")
        .args(["-c", "safe.directory=*", "ls-files", "-z"])
        .args(["--cached", "--others", "--exclude-standard"])
        .current_dir(&root)
        .output()
        .unwrap_or_else(|fault| panic!("the tidy tests need git: {fault}"));
    assert!(
        listed.status.success(),
        "git ls-files: {}",
        String::from_utf8_lossy(&listed.stderr)
    );
    let files: Vec<File> = String::from_utf8_lossy(&listed.stdout)
        .split_terminator('\0')
        .filter_map(|path| {
            let bytes = std::fs::read(root.join(path)).ok()?; // deleted, but not yet committed
            let size = bytes.len();
            Some(File {
                path: path.to_owned(),
                size,
                text: String::from_utf8(bytes).unwrap_or_default(),
            })
        })
        .collect();
    assert!(
        files.iter().any(|f| f.path == "crates/server/src/main.rs"),
        "not the repository"
    );
    files
}

/// A rule, the beginning of a path that may break it, and why that is right.
const EXCEPTIONS: [(&str, &str, &str); 1] = [(
    "sql_is_written_in_the_store_only",
    "crates/lab/src/watch/postgres",
    "the lab reads the statistics of a database under test, which is nobody's store",
)];

fn assert_kept(rule: &str, breaches: &[String]) {
    let excepted: Vec<_> = EXCEPTIONS
        .iter()
        .filter(|(excepted, ..)| *excepted == rule)
        .collect();
    for (_, path, reason) in &excepted {
        let still = breaches.iter().any(|breach| breach.starts_with(path));
        assert!(
            still,
            "{path} keeps the rule now; remove its exception ({reason})"
        );
    }
    let is_excepted =
        |breach: &&String| !excepted.iter().any(|(_, path, _)| breach.starts_with(path));
    let broken: Vec<_> = breaches
        .iter()
        .filter(is_excepted)
        .map(String::as_str)
        .collect();
    assert!(broken.is_empty(), "\n  {}\n", broken.join("\n  "));
}

macro_rules! house_rules {
    ($($room:ident { $($rule:ident)* })*) => { $($(
        #[test]
        fn $rule() {
            assert_kept(stringify!($rule), &$room::$rule(&repository()));
        }
    )*)* };
}

house_rules! {
    arrows {
        rooms_of_the_server_import_downwards_only
    }
    rules {
        every_module_opens_with_its_job
        no_module_has_more_than_500_lines
        no_directory_of_sources_has_more_than_20_items
        no_module_is_named_after_nothing
        sql_is_written_in_the_store_only
        the_law_knows_no_world
        the_lab_depends_on_nothing_of_ours
        the_lab_names_no_vendor
        the_environment_is_read_in_one_place
        every_crate_takes_the_workspace_lints
        every_script_is_short_and_says_its_job
        the_architecture_fits_in_300_lines
        no_tracked_file_is_large
        no_tracked_file_names_a_machine_or_a_template
        test_names_are_sentences
    }
}
