//! Races are found exactly where nothing orders two accesses: programs made at random, and an oracle that
//! keeps every access.

mod common;
mod virtual_device;

use common::{Run, bytes_of};
use ust_cuda::CudaError;
use virtual_device::device;

const BLOCKS: usize = 2;
const WARPS: usize = 2;
const THREADS: usize = 32 * WARPS;
/// Lanes of each warp that access memory; the others only come to barriers.
const ACTIVE: usize = 4;
/// Bytes that all threads access.
const BYTES: usize = 16;

/// Every thread runs its steps: an operation, and where or with whom.
const TEXT: &str = r#"
extern "C" __global__ void k(unsigned char* m, const unsigned* program, long long steps, unsigned long long* out) {
  long long t = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned long long sum = 0;
  for (long long s = 0; s < steps; s++) {
    unsigned op = program[2 * (t * steps + s)], at = program[2 * (t * steps + s) + 1];
    switch (op) {
      case 1: sum += *(unsigned char*)(m + at); break;
      case 2: sum += *(unsigned short*)(m + at); break;
      case 3: sum += *(unsigned*)(m + at); break;
      case 4: sum += *(unsigned long long*)(m + at); break;
      case 5: *(unsigned char*)(m + at) = 1; break;
      case 6: *(unsigned short*)(m + at) = 1; break;
      case 7: *(unsigned*)(m + at) = 1; break;
      case 8: *(unsigned long long*)(m + at) = 1; break;
      case 9: atomicAdd((unsigned*)(m + at), 1u); break;
      case 10: atomicAdd((unsigned long long*)(m + at), 1ull); break;
      case 11: __syncwarp(at); break;
      case 12: __syncthreads(); break;
    }
  }
  out[t] = sum;
}"#;
const WARP_BARRIER: u32 = 11;
const BLOCK_BARRIER: u32 = 12;

struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % n
    }
}

/// What each thread does, step by step.
type Program = Vec<Vec<(u32, u32)>>;

fn width(op: u32) -> usize {
    [1, 2, 4, 8, 1, 2, 4, 8, 4, 8][op as usize - 1]
}

fn writes(op: u32) -> bool {
    op > 4
}

fn is_atomic(op: u32) -> bool {
    matches!(op, 9 | 10)
}

/// Phases with some accesses each, and barriers between them that everybody they name comes to.
fn program(random: &mut Random) -> Program {
    let mut program = vec![Vec::new(); BLOCKS * THREADS];
    // Most programs would have a race at once: some have only readers, few threads, or one block.
    let dense = 1 + random.below(12);
    let kinds: &[u32] = [
        &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10][..],
        &[1, 3, 7],
        &[3, 9],
        &[1, 4, 5, 8],
        &[9, 10, 3],
        &[3, 3, 3, 3, 3, 3, 7],
        &[4, 4, 4, 4, 4, 5],
        &[10, 10, 10, 10, 1],
    ][random.below(8)];
    let (blocks, warps) = (1 + random.below(BLOCKS), 1 + random.below(WARPS));
    let bytes = [8, BYTES][random.below(2)];
    for _ in 0..1 + random.below(6) {
        for block in 0..blocks {
            for warp in 0..warps {
                for lane in 0..ACTIVE {
                    if random.below(dense) > 0 {
                        continue;
                    }
                    let op = kinds[random.below(kinds.len())];
                    let width = width(op);
                    // Few places, so that threads meet.
                    let at = random.below(bytes / width) * width;
                    program[block * THREADS + warp * 32 + lane]
                        .push((op, u32::try_from(at).unwrap()));
                }
            }
        }
        barrier(random, &mut program);
    }
    program
}

/// A barrier of all blocks, of parts of their warps, or none.
fn barrier(random: &mut Random, program: &mut Program) {
    match random.below(4) {
        0 => program.iter_mut().for_each(|thread| thread.push((BLOCK_BARRIER, 0))),
        1 => {}
        // A part of the active lanes of each warp.
        _ => {
            for warp in 0..BLOCKS * WARPS {
                let mask = u32::try_from(random.below(1 << ACTIVE)).unwrap() | 0xf0;
                for lane in (0..32).filter(|lane| mask >> lane & 1 == 1) {
                    program[warp * 32 + lane].push((WARP_BARRIER, mask));
                }
            }
        }
    }
}

/// Many threads do the same, and one, after barriers, something that must come behind all of them.
fn gathering(random: &mut Random, number: usize) -> Program {
    let mut program = vec![Vec::new(); BLOCKS * THREADS];
    let active: Vec<usize> =
        (0..ACTIVE).chain(32..32 + [0, 0, 1, ACTIVE][random.below(4)]).collect();
    let (many, one) = [(3, 7), (4, 5), (1, 5), (9, 3), (10, 1), (10, 7)][random.below(6)];
    for _ in 0..1 + random.below(3) {
        for &thread in &active {
            if random.below(3) > 0 {
                program[thread].push((many, 0));
            }
        }
        barrier(random, &mut program);
    }
    // Somebody comes late, perhaps, to another part of the bytes.
    let mut late = |step| program[active[random.below(active.len())]].push(step);
    if number.is_multiple_of(3) {
        late((3, 0));
        late((7, 4));
    } else {
        late((one, 0));
    }
    program
}

/// Whether two accesses meet without an order, by clocks of all threads, and all accesses.
fn races(program: &Program) -> bool {
    let count = program.len();
    // How far each thread knows that each other one has come.
    let mut clocks: Vec<Vec<usize>> = vec![vec![0; count]; count];
    let mut next = vec![0; count];
    let mut accesses: Vec<(usize, usize, u32, usize)> = Vec::new();
    let mut found = false;
    loop {
        let mut moved = false;
        for thread in 0..count {
            while let Some(&(op, at)) = program[thread].get(next[thread]) {
                if op >= WARP_BARRIER {
                    break;
                }
                (next[thread], moved) = (next[thread] + 1, true);
                clocks[thread][thread] += 1;
                let at = at as usize;
                for &(other, time, other_op, from) in &accesses {
                    let meet = from < at + width(op) && at < from + width(other_op);
                    let harmless =
                        !writes(op) && !writes(other_op) || is_atomic(op) && is_atomic(other_op);
                    found |= other != thread && meet && !harmless && clocks[thread][other] < time;
                }
                accesses.push((thread, clocks[thread][thread], op, at));
            }
        }
        // Barriers that all their threads have come to.
        for thread in 0..count {
            let Some(&(op, mask)) = program[thread].get(next[thread]) else { continue };
            if op < WARP_BARRIER {
                continue;
            }
            let first =
                if op == BLOCK_BARRIER { thread / THREADS * THREADS } else { thread / 32 * 32 };
            let members: Vec<usize> = match op {
                BLOCK_BARRIER => (first..first + THREADS).collect(),
                _ => (first..first + 32).filter(|t| mask >> (t - first) & 1 == 1).collect(),
            };
            if members.iter().any(|&t| program[t].get(next[t]) != Some(&(op, mask))) {
                continue;
            }
            let joined: Vec<usize> =
                (0..count).map(|t| members.iter().map(|&m| clocks[m][t]).max().unwrap()).collect();
            for &member in &members {
                clocks[member].clone_from(&joined);
                next[member] += 1;
            }
            moved = true;
        }
        if !moved {
            break;
        }
    }
    assert!(
        next.iter().zip(program).all(|(&next, thread)| next == thread.len()),
        "a program that ends"
    );
    found
}

#[test]
fn races_are_found_exactly_where_there_are_some() {
    let Some(device) = device() else { return };
    let run = Run::new(&device, TEXT);
    let mut random = Random(7);
    let mut verdicts = [0, 0];
    for number in 0..1000 {
        let program =
            if number % 2 == 0 { program(&mut random) } else { gathering(&mut random, number) };
        let steps = program.iter().map(Vec::len).max().unwrap();
        let mut words = Vec::new();
        for thread in &program {
            for step in 0..steps {
                let (op, at) = thread.get(step).copied().unwrap_or_default();
                words.extend([op, at]);
            }
        }
        let memory = run.stream.upload(&[0; BYTES]).unwrap();
        let code = run.stream.upload(&bytes_of(&words)).unwrap();
        let out = run.stream.alloc(8 * BLOCKS * THREADS).unwrap();
        let arguments = [memory.address(), code.address(), steps as u64, out.address()];
        let blocks = u32::try_from(BLOCKS).unwrap();
        let result = run.run(blocks, u32::try_from(THREADS).unwrap(), &arguments);
        let found = match &result {
            Ok(()) => false,
            Err(CudaError::KernelFailed { message, .. }) if message.contains("a race") => true,
            Err(other) => panic!("program {number}: {other}"),
        };
        assert_eq!(found, races(&program), "program {number}: {result:?}\n{program:?}");
        verdicts[usize::from(found)] += 1;
    }
    println!("{} programs without a race, {} with one", verdicts[0], verdicts[1]);
    assert!(verdicts.iter().all(|&count| count > 200), "{verdicts:?}");
}
