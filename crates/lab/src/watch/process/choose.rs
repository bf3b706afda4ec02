//! Which of the machine's processes are meant. It must not know what they use.

use std::collections::HashSet;

use super::super::glob::matches;

/// A process as it is listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Listed {
    pub(crate) pid: u32,
    pub(crate) parent: u32,
    /// As the kernel keeps it: at most 15 bytes.
    pub(crate) name: String,
    /// The arguments with a blank between them; empty when they were not read.
    pub(crate) command: String,
}

/// Whether a pattern means this process: its name, the file name of its program or its whole command
/// line.
pub(crate) fn is_meant(listed: &Listed, pattern: &str) -> bool {
    let program = listed.command.split(' ').next().unwrap_or_default();
    let program = program.rsplit('/').next().unwrap_or_default();
    let names = [listed.name.as_str(), program, listed.command.as_str()];
    names.iter().any(|name| matches(pattern, name))
}

/// The ids of the roots and everything below them, in the order of the list.
pub(crate) fn with_children(all: &[Listed], roots: &[u32]) -> Vec<u32> {
    let mut chosen: HashSet<u32> = roots.iter().copied().collect();
    loop {
        let before = chosen.len();
        for listed in all {
            if chosen.contains(&listed.parent) {
                chosen.insert(listed.pid);
            }
        }
        if chosen.len() == before {
            break;
        }
    }
    let pids = all.iter().map(|listed| listed.pid);
    pids.filter(|pid| chosen.contains(pid)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(pid: u32, parent: u32, name: &str, command: &str) -> Listed {
        Listed {
            pid,
            parent,
            name: name.to_owned(),
            command: command.to_owned(),
        }
    }

    #[test]
    fn a_pattern_means_a_name_a_program_or_a_command_line() {
        let server = listed(1, 0, "java", "/usr/bin/java -jar a.jar");
        let checkpointer = listed(2, 1, "postgres", "postgres: checkpointer ");
        for (pattern, process, expected) in [
            ("java", &server, true),
            ("jav", &server, false),
            ("*a.jar", &server, true),
            ("*.jar -x", &server, false),
            ("postgres", &checkpointer, true),
            ("postgres: *", &checkpointer, true),
            ("postgres: wal*", &checkpointer, false),
        ] {
            assert_eq!(is_meant(process, pattern), expected, "{pattern}");
        }
    }

    #[test]
    fn children_of_children_belong_in_any_order_of_the_list() {
        let all = [
            listed(9, 7, "grandchild", ""),
            listed(7, 5, "child", ""),
            listed(5, 1, "root", ""),
            listed(6, 1, "sibling", ""),
        ];
        assert_eq!(with_children(&all, &[5]), [9, 7, 5]);
        assert_eq!(with_children(&all, &[4]), [0; 0], "it is gone");
    }

    #[test]
    fn a_list_read_while_it_changed_may_go_round_in_circles() {
        let all = [listed(2, 3, "a", ""), listed(3, 2, "b", "")];
        assert_eq!(with_children(&all, &[3]), [2, 3]);
    }
}
