use super::*;
use crate::watch::file::FILE;

fn sources(text: &str) -> Vec<Source> {
    #[derive(serde::Deserialize)]
    struct Plan {
        watch: Vec<Source>,
    }
    toml::from_str::<Plan>(text).unwrap().watch
}

fn orders(text: &str, directory: &tempfile::TempDir) -> Orders {
    Orders {
        sources: sources(text),
        every: CLOSEST,
        clock: Clock::start(),
        file: directory.path().join(FILE),
        probe: Arc::default(),
    }
}

/// Waits until the file holds so many points of the series.
fn until(file: &std::path::Path, name: &str, points: usize) {
    loop {
        let watched = file::read(file).unwrap();
        if watched
            .find(name)
            .is_some_and(|series| series.points.len() >= points)
        {
            return;
        }
        thread::yield_now();
    }
}

#[test]
#[cfg(target_os = "linux")]
fn what_is_watched_is_in_the_file_before_the_end() {
    let directory = tempfile::tempdir().unwrap();
    let pid = std::process::id();
    let plan = format!(
        "[[watch]]\nkind = \"process\"\nname = \"lab\"\npid = {pid}\n[[watch]]\nkind = \"generator\"\n"
    );
    let orders = orders(&plan, &directory);
    let path = orders.file.clone();
    let watching = Watcher::start(orders, &|_| None).unwrap();
    until(&path, "lab.cpu", 3);
    until(&path, "generator.cpu", 2);
    let watched = watching.stop().unwrap();
    let cpu = watched.find("lab.cpu").unwrap();
    assert_eq!(cpu.unit, "% of a core");
    assert!(cpu.points[0].1.is_nan(), "a rate needs two readings");
    assert!(cpu.points[1].1 >= 0.0);
    assert!(cpu.points.windows(2).all(|pair| pair[0].0 <= pair[1].0));
}

#[test]
fn a_source_that_fails_leaves_a_note_and_the_others_alone() {
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = nobody.local_addr().unwrap();
    drop(nobody);
    let plan = format!(
        "[[watch]]\nkind = \"postgres\"\nname = \"down\"\nurl = \"postgres://me@{address}/db\"\n\
         [[watch]]\nkind = \"prometheus\"\nname = \"gone\"\nurl = \"http://{address}/\"\nmetrics = [\"*\"]\n\
         [[watch]]\nkind = \"generator\"\n"
    );
    let directory = tempfile::tempdir().unwrap();
    let orders = orders(&plan, &directory);
    let path = orders.file.clone();
    let watching = Watcher::start(orders, &|_| None).unwrap();
    until(&path, "generator.threads", 5);
    let watched = watching.stop().unwrap();
    for source in ["down", "gone"] {
        let notes: Vec<_> = watched
            .notes
            .iter()
            .filter(|note| note.source == source)
            .collect();
        assert_eq!(notes.len(), 1, "said once: {notes:?}");
        assert!(
            notes[0].text.starts_with("nothing could be read: "),
            "{notes:?}"
        );
    }
}

#[test]
fn orders_that_make_no_sense_are_refused_at_the_start() {
    let directory = tempfile::tempdir().unwrap();
    let refused = |text: &str| Watcher::start(orders(text, &directory), &|_| None).unwrap_err();
    let both = refused("[[watch]]\nkind = \"generator\"\n[[watch]]\nkind = \"generator\"\n");
    assert!(both.to_string().contains("`generator`"), "{both}");
    let url =
        refused("[[watch]]\nkind = \"prometheus\"\nname = \"m\"\nurl = \"x\"\nmetrics = [\"*\"]\n");
    assert!(url.to_string().contains("`m`"), "{url}");
    let mut orders = orders("watch = []", &directory);
    orders.every = Duration::ZERO;
    let every = Watcher::start(orders, &|_| None).unwrap_err();
    assert!(matches!(every, BadWatch::Every(_)), "{every}");
}

#[test]
fn a_run_shorter_than_a_tick_still_has_figures() {
    let second = 1_000_000_000;
    for (readings, every, expected) in [
        (1, second, 50_000_000),
        (2, second, 500_000_000),
        (1, 20_000_000, 10_000_000),
        (9, 20_000_000, 10_000_000),
    ] {
        assert_eq!(shortest(readings, every), expected, "{readings} {every}");
    }
}

/// A process that is there at first, gone then, and there again.
#[test]
#[cfg(target_os = "linux")]
fn a_gap_ends_when_the_source_is_back() {
    let directory = tempfile::tempdir().unwrap();
    let pid_file = directory.path().join("pid");
    let path = directory.path().join(FILE);
    let plan = format!("[[watch]]\nkind = \"process\"\nname = \"lab\"\npid_file = {pid_file:?}\n");
    let source = sources(&plan).remove(0);
    let Source::Process(process) = &source else {
        panic!("{source:?}");
    };
    let feed = Feed::Processes(Box::new(Processes::of(process).unwrap()));
    let log = Rc::new(RefCell::new(Log::create(&path).unwrap()));
    let mut attendant = Attendant::new("lab".to_owned(), feed, Clock::start(), log);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let mut tick = || runtime.block_on(attendant.tick(SHORTEST_WAIT));
    let own = format!("{}\n", std::process::id());
    std::fs::write(&pid_file, &own).unwrap();
    tick();
    std::fs::remove_file(&pid_file).unwrap();
    tick();
    tick();
    std::fs::write(&pid_file, &own).unwrap();
    tick();
    let watched = file::read(&path).unwrap();
    let is_gap: Vec<_> = watched
        .find("lab.rss")
        .unwrap()
        .points
        .iter()
        .map(|point| point.1.is_nan())
        .collect();
    assert_eq!(is_gap, [false, true, true, false]);
    let notes: Vec<_> = watched
        .notes
        .iter()
        .map(|note| note.text.as_str())
        .collect();
    assert_eq!(notes.len(), 3, "{notes:?}");
    assert!(notes[1].starts_with("nothing could be read: "), "{notes:?}");
    assert_eq!(notes[2], "it can be read again");
}
