//! Software transactional memory: `xstm`, an implementation of TL2, which the paper's LLT is like.
//!
//! The workers are threads of one process: no such library works between processes. Each operation is one transaction;
//! read-only ones keep no log, so a lookup is as cheap as TL2 has it. A query starts again each time that a write
//! beside it got in the way, which under enough writes is always: after a second it gives up, counted as one operation.

use std::sync::Arc;
use std::time::{Duration, Instant};

use fyris_harness::BenchError;
use fyris_harness::array_mix::Array;
use xstm::{Context, Stm, StmError, TVar, Transaction};

/// When a query gives up.
const PATIENCE: Duration = Duration::from_secs(1);

/// The array, an integer a variable.
struct Shared {
    stm: Stm,
    elements: Vec<TVar<u64>>,
}

/// One thread's access to it.
pub struct Worker(Arc<Shared>);

/// Access to one new array for each worker.
pub fn workers(elements: usize, workers: usize) -> Vec<Worker> {
    let shared = Arc::new(Shared {
        stm: Stm::new(),
        elements: (0..elements).map(|_| TVar::new(0)).collect(),
    });
    (0..workers).map(|_| Worker(shared.clone())).collect()
}

impl Array for Worker {
    #[inline]
    fn lookup(&mut self, at: usize) -> Result<u64, BenchError> {
        let lookup = self.0.elements[at].read();
        Ok(self.0.stm.atomically(lookup))
    }

    #[inline]
    fn write(&mut self, at: usize) -> Result<(), BenchError> {
        self.0.stm.atomically(AddOne(&self.0.elements[at]));
        Ok(())
    }

    fn query(&mut self) -> Result<Option<u64>, BenchError> {
        let elements = &self.0.elements;
        let until = Instant::now() + PATIENCE;
        Ok(self.0.stm.atomically(Greatest { elements, until }))
    }

    fn total(&mut self) -> Result<u64, BenchError> {
        Ok(self.0.stm.atomically(Sum(&self.0.elements)))
    }
}

struct AddOne<'a>(&'a TVar<u64>);

impl Transaction for AddOne<'_> {
    type Output = ();

    fn atomically<'this: 'var, 'context, 'var>(
        &'this self,
        context: &'context mut Context<'var>,
    ) -> Result<(), StmError> {
        let value = context.read(self.0)?;
        context.write(self.0, value + 1)
    }
}

struct Greatest<'a> {
    elements: &'a [TVar<u64>],
    until: Instant,
}

impl Transaction for Greatest<'_> {
    type Output = Option<u64>;

    fn atomically<'this: 'var, 'context, 'var>(
        &'this self,
        context: &'context mut Context<'var>,
    ) -> Result<Option<u64>, StmError> {
        if Instant::now() > self.until {
            return Ok(None);
        }
        let mut greatest = 0;
        for element in self.elements {
            greatest = greatest.max(context.read(element)?);
        }
        Ok(Some(greatest))
    }
}

struct Sum<'a>(&'a [TVar<u64>]);

impl Transaction for Sum<'_> {
    type Output = u64;

    fn atomically<'this: 'var, 'context, 'var>(
        &'this self,
        context: &'context mut Context<'var>,
    ) -> Result<u64, StmError> {
        let mut sum = 0;
        for element in self.0 {
            sum += context.read(element)?;
        }
        Ok(sum)
    }
}
