import { randomFrom } from '../../stage/random.ts'
import type { Step } from './model.ts'

const SMALL = {
  connections_max: 100,
  db_cores: 4,
  ram_gb: 16,
  disk_gb: 1_000,
  disk_mb_s: 250,
  flush_ms: 1,
  vacuum_pace: 1,
  partitioned: false,
  replicas: false,
  nodes: 1,
  speedup: 1,
}

const LARGE = {
  ...SMALL,
  connections_max: 500,
  db_cores: 32,
  ram_gb: 128,
  disk_gb: 8_000,
  disk_mb_s: 1_000,
  flush_ms: 0.5,
  vacuum_pace: 10,
}

const SPREAD = { workspaces: 10_000, rounds: 50, seed: 1 }

/** The path of growth; each step includes the steps before it. The sizes are examples. */
export const STEPS: readonly Step[] = [
  { ...SMALL, name: 'one server', servers: 1 },
  { ...SMALL, name: '4 servers, one PostgreSQL', servers: 4 },
  { ...LARGE, name: 'more cores and disk', servers: 28 },
  { ...LARGE, name: 'partitions by month', servers: 28, partitioned: true },
  { ...LARGE, name: 'read replicas', servers: 28, partitioned: true, replicas: true },
  ...[4, 16].map((nodes) => ({
    ...LARGE,
    name: `${nodes} nodes by workspace`,
    servers: 28 * nodes,
    partitioned: true,
    replicas: true,
    nodes,
    speedup: speedupOf(nodes, SPREAD),
  })),
]

/**
 * The capacity of several nodes, in nodes, when complete workspaces are spread over them at random and their sizes
 * fall as 1/rank (Zipf): the fullest node is the limit. The mean of `rounds` spreads.
 */
function speedupOf(
  nodes: number,
  { workspaces, rounds, seed }: { workspaces: number; rounds: number; seed: number },
): number {
  const random = randomFrom(seed).next
  const sizes = Array.from({ length: workspaces }, (_, rank) => 1 / (rank + 1))
  const total = sizes.reduce((sum, size) => sum + size, 0)
  let speedups = 0
  for (let round = 0; round < rounds; round++) {
    const filled = new Float64Array(nodes)
    for (const size of sizes) {
      const node = Math.floor(random() * nodes)
      filled[node] = (filled[node] ?? 0) + size
    }
    speedups += total / Math.max(...filled)
  }
  return speedups / rounds
}
