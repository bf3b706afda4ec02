//! The pool under pressure. Jobs are held back by channels, so that nothing depends on time.

use super::*;
use std::net::{IpAddr, Ipv4Addr};
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::task::{Context, Poll, Waker};

/// Four places, one of them kept.
const SMALL: PoolSettings = PoolSettings {
    threads: 1,
    queue: 4,
    per_client: 100,
    per_address: 100,
};

fn origin(client: u8) -> Origin {
    Origin {
        client: [client; 16],
        address: IpAddr::V4(Ipv4Addr::new(192, 0, 2, client)),
    }
}

/// Lets the future queue its job; answers what it had to say already.
fn poll<F: Future>(future: std::pin::Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

fn block_on<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap()
        .block_on(future)
}

/// A job that keeps the pool's one thread until the sender is dropped.
fn occupy(
    pool: &Pool,
) -> (
    impl Future<Output = Result<(), PoolError>>,
    mpsc::Sender<()>,
) {
    let (release, released) = mpsc::channel::<()>();
    let (begun, begins) = mpsc::channel();
    let mut job = Box::pin(pool.run(origin(0), move || {
        begun.send(()).unwrap();
        assert!(released.recv().is_err(), "nothing is sent");
    }));
    assert!(poll(job.as_mut()).is_pending());
    begins.recv().unwrap();
    (job, release)
}

#[test]
fn a_full_pool_says_so_at_once_and_recovers() {
    let pool = Pool::new(SMALL).unwrap();
    let (running, release) = occupy(&pool);
    let mut first = pin!(pool.run(origin(1), || 1));
    let mut second = pin!(pool.run(origin(2), || 2));
    assert!(poll(first.as_mut()).is_pending());
    assert!(poll(second.as_mut()).is_pending());
    let mut third = pin!(pool.run(origin(3), || 3));
    assert!(poll(third.as_mut()).is_pending());
    let refused = poll(pin!(pool.run(origin(4), || 4)));
    assert_eq!(refused, Poll::Ready(Err(FULL)));
    assert_eq!(pool.waiting(), 3);
    drop(release);
    block_on(async {
        assert_eq!(running.await, Ok(()));
        assert_eq!((first.await, second.await), (Ok(1), Ok(2)));
        assert_eq!(
            (third.await, pool.run(origin(4), || 4).await),
            (Ok(3), Ok(4))
        );
    });
}

#[test]
fn places_are_kept_for_who_was_right_before() {
    let pool = Pool::new(SMALL).unwrap();
    let (running, release) = occupy(&pool);
    let mut strangers: Vec<_> = (1..=3)
        .map(|c| Box::pin(pool.run(origin(c), move || c)))
        .collect();
    for stranger in &mut strangers {
        assert!(poll(stranger.as_mut()).is_pending());
    }
    assert_eq!(
        poll(pin!(pool.run(origin(9), || 9))),
        Poll::Ready(Err(FULL))
    );
    pool.succeeded(&origin(9));
    let mut friend = pin!(pool.run(origin(9), || 9));
    assert!(poll(friend.as_mut()).is_pending());
    assert_eq!(poll(pin!(pool.run_trusted(|| 11))), Poll::Ready(Err(FULL)));
    drop(release);
    block_on(async {
        assert_eq!(friend.await, Ok(9));
        assert_eq!(pool.run_trusted(|| 10).await, Ok(10));
        assert_eq!(running.await, Ok(()));
    });
}

#[test]
fn a_job_whose_requester_has_gone_is_never_run_and_leaves_its_place() {
    let pool = Pool::new(SMALL).unwrap();
    let (running, release) = occupy(&pool);
    let run = Arc::new(AtomicUsize::new(0));
    for client in 1..=100 {
        let run = Arc::clone(&run);
        let mut gone =
            Box::pin(pool.run(origin(client), move || run.fetch_add(1, Ordering::SeqCst)));
        assert!(
            poll(gone.as_mut()).is_pending(),
            "those that went away take no place"
        );
    }
    let mut last = pin!(pool.run(origin(200), || 200));
    assert!(poll(last.as_mut()).is_pending());
    drop(release);
    block_on(async {
        assert_eq!(last.await, Ok(200));
        assert_eq!(running.await, Ok(()));
    });
    assert_eq!(run.load(Ordering::SeqCst), 0);
}

#[test]
fn a_client_is_refused_beyond_its_share_and_gets_it_back() {
    let pool = Pool::new(PoolSettings {
        per_client: 1,
        ..SMALL
    })
    .unwrap();
    let (running, release) = occupy(&pool);
    assert_eq!(
        poll(pin!(pool.run(origin(0), || 0))),
        Poll::Ready(Err(FULL))
    );
    let mut other = pin!(pool.run(origin(1), || 1));
    assert!(poll(other.as_mut()).is_pending());
    drop(release);
    block_on(async {
        assert_eq!(running.await, Ok(()));
        assert_eq!(other.await, Ok(1));
        assert_eq!(pool.run(origin(0), || 0).await, Ok(0));
    });
}

#[test]
fn a_panicking_job_is_lost_and_the_thread_lives_on() {
    let pool = Pool::new(SMALL).unwrap();
    block_on(async {
        let lost: Result<(), _> = pool.run(origin(1), || panic!("on purpose")).await;
        assert_eq!(lost, Err(PoolError::Lost));
        assert_eq!(pool.run(origin(1), || 1).await, Ok(1));
    });
}

#[test]
fn what_waits_when_the_pool_goes_is_lost_not_forgotten() {
    let pool = Pool::new(SMALL).unwrap();
    let (_, release) = occupy(&pool);
    let receiver = pool.workers.submit(Lane::Open, || 1).unwrap();
    drop(pool);
    drop(release);
    assert!(block_on(receiver).is_err());
}

#[test]
fn many_threads_share_the_pool_and_every_job_is_answered() {
    let config = PoolSettings {
        queue: 64,
        threads: 3,
        ..SMALL
    };
    let pool = Arc::new(Pool::new(config).unwrap());
    let call = |caller: u8| {
        let pool = Arc::clone(&pool);
        std::thread::spawn(move || block_on(call_often(&pool, caller)))
    };
    let callers: Vec<_> = (0..8).map(call).collect();
    let answered: u32 = callers
        .into_iter()
        .map(|caller| caller.join().unwrap())
        .sum();
    assert_eq!(answered, 8 * 500);
    assert_eq!(pool.waiting(), 0);
}

async fn call_often(pool: &Pool, caller: u8) -> u32 {
    let mut answered = 0;
    for number in 0..500 {
        match pool.run(origin(caller), move || number).await {
            Ok(same) => assert_eq!(same, number),
            Err(error) => assert!(matches!(error, PoolError::Full { .. })),
        }
        answered += 1;
    }
    answered
}
