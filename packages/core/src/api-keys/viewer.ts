import type { KeyIdentity } from './api-keys.ts'

/**
 * The reader of a workspace's data. A workspace id gives access to all data. A test key reads and changes only test data,
 * and gets `not_found` for live data.
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

/** Returns the row if the view contains it. Returns null for a live row if the viewer has a test key. */
export function seen<Row extends { livemode: boolean }>(
  { livemode }: Pick<View, 'livemode'>,
  row: Row | null,
): Row | null {
  return row && (livemode === undefined || !row.livemode) ? row : null
}
