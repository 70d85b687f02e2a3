//! Rust's locks, channels and counters, which are atomic operations that wait by futexes.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Barrier, Condvar, Mutex, OnceLock, RwLock, mpsc};
use std::thread;

fn main() {
    let mutex = Arc::new(Mutex::new(0u64));
    let both = RwLock::new(0u64);
    let (counter, barrier, once) = (AtomicU64::new(0), Barrier::new(4), OnceLock::new());
    let (sender, receiver) = mpsc::channel();
    let work = |n: u64, mutex: Arc<Mutex<u64>>, sender: mpsc::Sender<u64>| {
        for round in 0..40 {
            *mutex.lock().expect("the lock") += 1;
            *both.write().expect("the lock") += n;
            // Relaxed: nothing else depends on it.
            counter.fetch_add(1, Ordering::Relaxed);
            if round % 20 == 0 {
                barrier.wait();
                sender.send(n).expect("a receiver");
            }
        }
        *once.get_or_init(|| 5u64)
    };
    let results = thread::scope(|scope| {
        let spawn = |n| {
            let (mutex, sender) = (mutex.clone(), sender.clone());
            scope.spawn(move || work(n, mutex, sender))
        };
        let all: Vec<_> = (0..4).map(spawn).collect();
        let join = |thread: thread::ScopedJoinHandle<'_, u64>| thread.join().expect("a result");
        all.into_iter().map(join).sum::<u64>()
    });
    drop(sender);
    let sent: u64 = receiver.iter().sum();
    let pair = Arc::new((Mutex::new(false), Condvar::new()));
    let other = pair.clone();
    let waker = thread::spawn(move || {
        *other.0.lock().expect("the lock") = true;
        other.1.notify_one();
    });
    let guard = pair.0.lock().expect("the lock");
    drop(pair.1.wait_while(guard, |done| !*done).expect("the lock"));
    waker.join().expect("the thread");
    let (locked, written) = (*mutex.lock().expect("the lock"), *both.read().expect("the lock"));
    let counted = counter.into_inner();
    println!("{locked} {written} {counted} {results} {sent} {}", Arc::strong_count(&mutex));
}
