/** A due row of the message queue. Its line has the bulk messages of its workspace, or the other messages of it. */
export interface InLine {
  message_id: string
  workspace_id: string
  is_bulk: boolean
}

/** A look into the lines of a part of the workspaces. */
export interface Walk<Row> {
  /** The first due rows of each line, at most `share` of each, in the order of their due times. */
  rows: readonly Row[]
  share: number
  /** Whether the lines of all workspaces were looked into. */
  is_whole: boolean
}

export interface Turns<Row> {
  /** The rows of the claim: the first row of each line before the second of any. */
  taken: Row[]
  /** The workspaces of which due messages may be left that belong to no bulk; null if these are not known. */
  left: ReadonlySet<string> | null
}

/** The workspaces that one claim looks into, due or not. It bounds the time of a claim: each costs some 5 µs. */
export const WALK_MAX = 128

/** The parts of a claim: rows of a walk, and of how many workspaces; the rest of the claim goes to the oldest rows. */
export interface ClaimParts {
  walked: number
  workspaces: number
}

/**
 * Divides a claim of `limit` rows. Half of them are the oldest of all, so each due row waits for a bounded number of claims; the
 * other half gives the lines their turns. A claim of one row does the one or the other in turn, as `is_odd` says.
 */
export function partsOf(limit: number, is_odd: boolean): ClaimParts {
  const walked = Math.floor((limit + (is_odd ? 1 : 0)) / 2)
  // A workspace has two lines.
  return { walked, workspaces: Math.max(1, Math.floor(walked / 2)) }
}

/** How many rows of each line a walk takes. */
export function shareOf({ walked }: ClaimParts, lines: number): number {
  return Math.max(1, Math.floor(walked / Math.max(1, lines)))
}

/**
 * Chooses the rows of a claim while more are due than it may take: of each line a beginning of its order.
 * @param oldest the `limit` rows that are due for the longest time
 */
export function takeTurns<Row extends InLine>(
  oldest: readonly Row[],
  { rows, share, is_whole }: Walk<Row>,
  { limit, walked }: { limit: number; walked: number },
): Turns<Row> {
  const chosen = new Map<string, Row>()
  const first = limit - walked
  for (const row of [...oldest.slice(0, first), ...rows, ...oldest.slice(first)]) {
    if (chosen.size < limit) chosen.set(row.message_id, row)
  }
  const counts = new Map<string, number>()
  const places = [...chosen.values()].map((row) => {
    const line = lineOf(row)
    const place = counts.get(line) ?? 0
    counts.set(line, place + 1)
    return { row, place }
  })
  places.sort((a, b) => a.place - b.place || Number(a.row.is_bulk) - Number(b.row.is_bulk))
  return {
    taken: places.map(({ row }) => row),
    left: is_whole ? leftOf([...oldest, ...rows], rows, share, chosen) : null,
  }
}

function leftOf<Row extends InLine>(
  found: readonly Row[],
  walked: readonly Row[],
  share: number,
  chosen: ReadonlyMap<string, Row>,
): Set<string> {
  const counts = new Map<string, number>()
  for (const row of walked) counts.set(lineOf(row), (counts.get(lineOf(row)) ?? 0) + 1)
  const left = found.filter(
    (row) =>
      !row.is_bulk && (!chosen.has(row.message_id) || (counts.get(lineOf(row)) ?? 0) >= share),
  )
  return new Set(left.map(({ workspace_id }) => workspace_id))
}

const lineOf = ({ workspace_id, is_bulk }: InLine) => `${workspace_id}${is_bulk ? '/bulk' : ''}`
