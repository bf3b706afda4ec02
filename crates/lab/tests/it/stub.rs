//! A server that does what a test says, one thread per connection, and remembers what it was sent.

use std::io::{self, BufRead, BufReader, Read as _, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// One request as it arrived.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    /// Counts over all connections, from zero.
    pub(crate) index: usize,
    pub(crate) head: String,
    pub(crate) body: String,
}

/// What the server does about a request.
pub(crate) enum Act {
    /// Sends these bytes.
    Send(Vec<u8>),
    /// Sends these bytes, then closes the connection.
    Close(Vec<u8>),
    /// Says nothing until the client goes away.
    Ignore,
    /// Sends an ordinary answer after so long.
    Stall(Duration),
}

pub(crate) fn ok() -> Act {
    Act::Send(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".to_vec())
}

type Behaviour = Arc<dyn Fn(&Seen) -> Act + Send + Sync>;

pub(crate) struct Stub {
    pub(crate) url: String,
    shared: Arc<Shared>,
}

struct Shared {
    behaviour: Behaviour,
    connections: AtomicUsize,
    seen: Mutex<Vec<Seen>>,
}

impl Stub {
    pub(crate) fn start(behaviour: impl Fn(&Seen) -> Act + Send + Sync + 'static) -> Self {
        Self::wrapped("http", behaviour, Ok)
    }

    /// `wrap` turns an accepted connection into what requests are read from.
    pub(crate) fn wrapped<S: io::Read + Write>(
        scheme: &str,
        behaviour: impl Fn(&Seen) -> Act + Send + Sync + 'static,
        wrap: impl Fn(TcpStream) -> io::Result<S> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("{scheme}://{}/", listener.local_addr().unwrap());
        let shared = Arc::new(Shared {
            behaviour: Arc::new(behaviour),
            connections: AtomicUsize::new(0),
            seen: Mutex::default(),
        });
        let served = Arc::clone(&shared);
        let wrap = Arc::new(wrap);
        let accept = move |stream: TcpStream| {
            let (shared, wrap) = (Arc::clone(&served), Arc::clone(&wrap));
            shared.connections.fetch_add(1, Ordering::SeqCst);
            // How a connection ends is nobody's concern: most clients here just go away.
            thread::spawn(move || serve(wrap(stream)?, &shared));
        };
        thread::spawn(move || listener.incoming().map_while(Result::ok).for_each(accept));
        Self { url, shared }
    }

    pub(crate) fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::SeqCst)
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.shared.seen.lock().unwrap().clone()
    }
}

fn serve<S: io::Read + Write>(stream: S, shared: &Shared) -> io::Result<()> {
    let mut stream = BufReader::new(stream);
    while let Some((head, body)) = read_request(&mut stream)? {
        let seen = {
            let mut all = shared.seen.lock().unwrap();
            let index = all.len();
            all.push(Seen { index, head, body });
            all[index].clone()
        };
        let (bytes, close) = match (shared.behaviour)(&seen) {
            Act::Send(bytes) => (bytes, false),
            Act::Close(bytes) => (bytes, true),
            Act::Stall(time) => {
                thread::sleep(time);
                (
                    b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".to_vec(),
                    false,
                )
            }
            Act::Ignore => {
                stream.read_to_end(&mut Vec::new())?;
                return Ok(());
            }
        };
        stream.get_mut().write_all(&bytes)?;
        stream.get_mut().flush()?;
        if close {
            return Ok(());
        }
    }
    Ok(())
}

fn read_request(stream: &mut impl BufRead) -> io::Result<Option<(String, String)>> {
    let mut head = String::new();
    let mut length = 0;
    loop {
        let start = head.len();
        if stream.read_line(&mut head)? == 0 {
            return Ok(None);
        }
        let line = head[start..].trim().to_ascii_lowercase();
        if line.is_empty() {
            break;
        }
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body)?;
    Ok(Some((head, String::from_utf8(body).unwrap())))
}
