import { randomFrom } from '../../stage/random.ts'

/**
 * The capacity of several nodes, in nodes, when complete workspaces are spread over them at random and their sizes
 * fall as 1/rank (Zipf): the fullest node is the limit. The mean of `rounds` spreads.
 */
export function speedupOf(
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
