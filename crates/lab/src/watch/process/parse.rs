//! The texts under `/proc`, as proc(5) describes them. It must not know where they are read or what is
//! made of them.

/// Of `/proc/PID/stat`. Times are in ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stat {
    pub(crate) state: char,
    pub(crate) parent: u32,
    pub(crate) user: u64,
    pub(crate) system: u64,
    /// User and system time of ended children that were waited for.
    pub(crate) reaped_user: u64,
    pub(crate) reaped_system: u64,
    pub(crate) threads: u64,
    /// Since the machine started. Together with the process id it names a process for good.
    pub(crate) started: u64,
}

pub(crate) fn stat(text: &str) -> Option<Stat> {
    // The name may hold anything, also blanks and brackets; what follows the last bracket may not.
    let (_, rest) = text.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    // Fields are numbered from 1, and the state is the third.
    let field = |number: usize| fields.get(number - 3).copied();
    let number = |at: usize| field(at)?.parse().ok();
    // The children's times are signed in the kernel.
    let signed = |at: usize| Some(u64::try_from(field(at)?.parse::<i64>().ok()?).unwrap_or(0));
    Some(Stat {
        state: field(3)?.chars().next()?,
        parent: field(4)?.parse().ok()?,
        user: number(14)?,
        system: number(15)?,
        reaped_user: signed(16)?,
        reaped_system: signed(17)?,
        threads: number(20)?,
        started: number(22)?,
    })
}

/// The name between the brackets of `/proc/PID/stat`: at most 15 bytes of the program's.
pub(crate) fn name(stat: &str) -> Option<&str> {
    let (_, rest) = stat.split_once('(')?;
    Some(rest.rsplit_once(')')?.0)
}

/// The number behind `key:` in files of such lines, without its unit.
pub(crate) fn number(text: &str, key: &str) -> Option<u64> {
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?;
    line.split_ascii_whitespace().next()?.parse().ok()
}

/// A number of kilobytes behind `key:`, in bytes.
pub(crate) fn kilobytes(text: &str, key: &str) -> Option<u64> {
    number(text, key)?.checked_mul(1024)
}

/// Of `/proc/PID/io`: what the process asked for, and what reached the disk.
pub(crate) fn io(text: &str) -> Option<[u64; 6]> {
    let keys = [
        "syscr",
        "syscw",
        "rchar",
        "wchar",
        "read_bytes",
        "write_bytes",
    ];
    let mut values = [0; 6];
    for (value, key) in values.iter_mut().zip(keys) {
        *value = number(text, key)?;
    }
    Some(values)
}

/// The inode of a socket, from where a descriptor under `/proc/PID/fd` points.
pub(crate) fn socket(link: &str) -> Option<u64> {
    let inode = link.strip_prefix("socket:[")?.strip_suffix(']')?;
    inode.parse().ok()
}

/// Seconds since the machine started, of `/proc/uptime`, in ticks.
pub(crate) fn uptime(text: &str) -> Option<u64> {
    let (seconds, hundredths) = text.split_ascii_whitespace().next()?.split_once('.')?;
    let whole = seconds.parse::<u64>().ok()?.checked_mul(super::TICKS)?;
    whole.checked_add(hundredths.get(..2)?.parse().ok()?)
}

/// State and inode of each connection of `/proc/PID/net/tcp` and `tcp6`.
pub(crate) fn connections(text: &str) -> impl Iterator<Item = (Tcp, u64)> {
    text.lines().skip(1).filter_map(|line| {
        let mut fields = line.split_ascii_whitespace();
        let state = fields.nth(3)?;
        let inode = fields.nth(5)?;
        Some((Tcp::parse(state), inode.parse().ok()?))
    })
}

/// The states of a connection that mean something to who measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Tcp {
    Established,
    Opening,
    /// The peer has closed, the process has not.
    CloseWait,
    Closing,
    /// Belongs to no process any more; it holds a port for a minute.
    TimeWait,
    Listen,
}

impl Tcp {
    /// The kernel's numbers are in `tcp_states.h`.
    fn parse(hex: &str) -> Self {
        match hex {
            "01" => Self::Established,
            "02" | "03" | "0C" => Self::Opening,
            "06" => Self::TimeWait,
            "08" => Self::CloseWait,
            "0A" => Self::Listen,
            _ => Self::Closing,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_name_with_brackets_and_blanks_does_not_shift_the_fields() {
        let text = "32591 (a) R (b) S 32581 32581 28634 0 -1 4194304 100 0 0 0 150 25 -1 7 20 0 9 0 1387218 3133440 412 18446744073709551615";
        let stat = stat(text).unwrap();
        assert_eq!(
            stat,
            Stat {
                state: 'S',
                parent: 32581,
                user: 150,
                system: 25,
                reaped_user: 0,
                reaped_system: 7,
                threads: 9,
                started: 1_387_218
            }
        );
        assert_eq!(name(text), Some("a) R (b"));
    }

    #[test]
    fn numbers_are_found_by_their_whole_key() {
        let text =
            "Name:\tx\nVmRSS:\t    1672 kB\nRssAnon:\t 4 kB\nnonvoluntary_ctxt_switches:\t3\n";
        assert_eq!(kilobytes(text, "VmRSS"), Some(1672 * 1024));
        assert_eq!(number(text, "nonvoluntary_ctxt_switches"), Some(3));
        assert_eq!(number(text, "voluntary_ctxt_switches"), None);
        assert_eq!(number(text, "Vm"), None);
        assert_eq!(number(text, "Name"), None);
    }

    #[test]
    fn io_is_complete_or_nothing() {
        let text = "rchar: 6976\nwchar: 1\nsyscr: 10\nsyscw: 2\nread_bytes: 4096\nwrite_bytes: 8192\ncancelled_write_bytes: 0\n";
        assert_eq!(io(text), Some([10, 2, 6976, 1, 4096, 8192]));
        assert_eq!(io("rchar: 6976\n"), None);
    }

    #[test]
    fn connections_have_a_state_and_an_inode() {
        let text = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n   0: 0100007F:B265 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1946730 1 00000000ca5e88d9 100 0 0 10 0\n   1: 0100007F:B693 0100007F:0001 06 00000000:00000000 03:00000B1E 00000000     0        0 0 3 0000000000000000\n   2: nonsense\n";
        let all: Vec<_> = connections(text).collect();
        assert_eq!(all, [(Tcp::Listen, 1_946_730), (Tcp::TimeWait, 0)]);
    }

    #[test]
    fn only_sockets_are_sockets() {
        assert_eq!(socket("socket:[123]"), Some(123));
        for link in ["pipe:[123]", "socket:[", "socket:[x]", "/dev/null"] {
            assert_eq!(socket(link), None, "{link}");
        }
    }

    #[test]
    fn uptime_is_in_ticks() {
        assert_eq!(uptime("13872.18 27000.01\n"), Some(1_387_218));
        assert_eq!(uptime("x"), None);
    }

    proptest! {
        #[test]
        fn nonsense_is_nothing(text in "[ ()0-9a-zA-Z:\\[\\].\n\\PC]{0,120}") {
            let _ = stat(&text);
            let _ = name(&text);
            let _ = io(&text);
            let _ = socket(&text);
            let _ = uptime(&text);
            prop_assert!(connections(&text).count() <= text.lines().count());
            prop_assert!(number(&text, "VmRSS").is_none_or(|_| text.contains("VmRSS:")));
        }
    }
}
