/** The cycles of a directed graph, each from a node back to itself; empty if there is none. */
export function cyclesOf(
  edges: readonly { readonly from: string; readonly target: string }[],
): string[][] {
  const next = new Map<string, string[]>()
  for (const { from, target } of edges) next.set(from, [...(next.get(from) ?? []), target])
  const finished = new Set<string>()
  const cycles: string[][] = []
  const visit = (node: string, way: readonly string[]): void => {
    const start = way.indexOf(node)
    if (start !== -1) {
      cycles.push([...way.slice(start), node])
    } else if (!finished.has(node)) {
      for (const target of next.get(node) ?? []) visit(target, [...way, node])
      finished.add(node)
    }
  }
  for (const node of next.keys()) visit(node, [])
  return cycles
}
