use proptest::prelude::*;

use super::*;

/// What a response came to: status, body bytes, done, reusable; or how it was malformed.
type Verdict = Result<(u16, u64, bool, bool), Malformed>;

fn read_in(pieces: &[&[u8]], closed: bool) -> Verdict {
    let mut response = Response::new(false);
    for piece in pieces {
        response.feed(piece)?;
    }
    let done = response.is_done() || (closed && response.close());
    Ok((
        response.status(),
        response.body(),
        done,
        response.is_reusable(),
    ))
}

fn read(text: &str) -> Verdict {
    read_in(&[text.as_bytes()], false)
}

const WELL_FORMED: &[&str] = &[
    "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
    "HTTP/1.1 204 No Content\r\n\r\n",
    "HTTP/1.1 304 Not Modified\r\nContent-Length: 99\r\n\r\n",
    "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\n\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n1;x=y\r\n!\r\n0\r\n\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\nA: b\r\nC: d\r\n\r\n",
    "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok",
    "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok",
];

#[test]
fn each_framing_finds_its_end() {
    assert_eq!(read(WELL_FORMED[0]), Ok((200, 5, true, true)));
    assert_eq!(read(WELL_FORMED[1]), Ok((204, 0, true, true)));
    assert_eq!(read(WELL_FORMED[2]), Ok((304, 0, true, true)));
    assert_eq!(read(WELL_FORMED[3]), Ok((401, 0, true, true)));
    assert_eq!(read(WELL_FORMED[4]), Ok((200, 6, true, true)));
    assert_eq!(read(WELL_FORMED[5]), Ok((200, 0, true, true)));
    assert_eq!(read(WELL_FORMED[6]), Ok((200, 2, true, false)));
    assert_eq!(read(WELL_FORMED[7]), Ok((200, 2, true, false)));
}

#[test]
fn body_without_framing_ends_with_the_connection() {
    let text = b"HTTP/1.1 200 OK\r\n\r\nwhatever".as_slice();
    assert_eq!(read_in(&[text], false), Ok((200, 8, false, false)));
    assert_eq!(read_in(&[text], true), Ok((200, 8, true, false)));
}

#[test]
fn connection_closed_early_is_not_an_end() {
    let cut = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel".as_slice();
    assert_eq!(read_in(&[cut], true), Ok((200, 3, false, false)));
}

#[test]
fn answer_to_head_has_no_body() {
    let mut response = Response::new(true);
    response
        .feed(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n")
        .unwrap();
    assert!(response.is_reusable());
    let mut response = Response::new(true);
    response
        .feed(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        .unwrap();
    assert!(response.is_reusable());
}

#[test]
fn malformed_responses_are_named() {
    let cases = [
        ("SSH-2.0-x\r\n\r\n", Malformed::Head),
        (
            "HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\n",
            Malformed::Switched,
        ),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
            Malformed::Length,
        ),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 1, 2\r\n\r\n",
            Malformed::Length,
        ),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nx",
            Malformed::Surplus,
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nz\r\n",
            Malformed::Chunk,
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab",
            Malformed::Chunk,
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(read(text), Err(expected), "{text:?}");
    }
}

#[test]
fn endless_head_is_refused() {
    let mut response = Response::new(false);
    response.feed(b"HTTP/1.1 200 OK\r\nA: ").unwrap();
    let verdict = (0..70).try_for_each(|_| response.feed(&[b'a'; 1024]));
    assert_eq!(verdict, Err(Malformed::TooLarge));
}

/// Cuts the bytes at the given places and feeds the pieces.
fn read_cut(bytes: &[u8], cuts: &[usize]) -> Verdict {
    let mut cuts: Vec<_> = cuts.iter().map(|cut| cut % (bytes.len() + 1)).collect();
    cuts.extend([0, bytes.len()]);
    cuts.sort_unstable();
    let pieces: Vec<_> = cuts
        .windows(2)
        .map(|pair| &bytes[pair[0]..pair[1]])
        .collect();
    read_in(&pieces, true)
}

proptest! {
    #[test]
    fn pieces_read_like_the_whole(
        case in 0..WELL_FORMED.len(),
        cuts in prop::collection::vec(0..500_usize, 0..20),
    ) {
        let bytes = WELL_FORMED[case].as_bytes();
        prop_assert_eq!(read_cut(bytes, &cuts), read_in(&[bytes], true));
    }

    #[test]
    fn damaged_response_reads_the_same_in_pieces_and_never_panics(
        case in 0..WELL_FORMED.len(),
        at in 0..500_usize,
        byte in any::<u8>(),
        cuts in prop::collection::vec(0..500_usize, 0..10),
    ) {
        let mut bytes = WELL_FORMED[case].as_bytes().to_vec();
        let at = at % bytes.len();
        bytes[at] = byte;
        let whole = read_in(&[&bytes], true);
        let pieces = read_cut(&bytes, &cuts);
        prop_assert_eq!(whole, pieces);
    }

    #[test]
    fn garbage_never_panics(
        bytes in prop::collection::vec(any::<u8>(), 0..2000),
        cuts in prop::collection::vec(0..2000_usize, 0..10),
    ) {
        // An error or an unfinished response, either is fine; a panic is not.
        if let Ok((_, body, ..)) = read_cut(&bytes, &cuts) {
            prop_assert!(body <= bytes.len() as u64);
        }
    }
}
