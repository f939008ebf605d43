import type { KeyIdentity } from './api-keys.ts'

/**
 * The reader of a workspace's data. A workspace id sees all of it; a test key sees and changes test data only, and gets
 * `not_found` for live data.
 */
export type Viewer = string | Pick<KeyIdentity, 'workspace_id' | 'mode'>

/** All rows of a workspace, or only those whose `livemode` is false. */
export interface View {
  workspace_id: string
  livemode?: false
}

export function viewOf(viewer: Viewer): View {
  if (typeof viewer === 'string') return { workspace_id: viewer }
  const { workspace_id, mode } = viewer
  return mode === 'test' ? { workspace_id, livemode: false } : { workspace_id }
}

/** The row if the view contains it; null for a live row and a test key. */
export function seen<Row extends { livemode: boolean }>(
  { livemode }: Pick<View, 'livemode'>,
  row: Row | null,
): Row | null {
  return row && (livemode === undefined || !row.livemode) ? row : null
}
