import type { KeyIdentity } from './api-keys.ts'

/**
 * Who asks for a workspace's data: its id stands for all of it. A test key sees and changes test data only; what is
 * live does not exist for it.
 */
export type Viewer = string | Pick<KeyIdentity, 'workspace_id' | 'mode'>

/** What a viewer sees: everything of a workspace, or only rows whose `livemode` is false. */
export interface View {
  workspace_id: string
  livemode?: false
}

export function viewOf(viewer: Viewer): View {
  if (typeof viewer === 'string') return { workspace_id: viewer }
  const { workspace_id, mode } = viewer
  return mode === 'test' ? { workspace_id, livemode: false } : { workspace_id }
}

/** The row, where the view has it; null for one that is not there, or is live and seen by a test key. */
export function seen<Row extends { livemode: boolean }>(
  { livemode }: Pick<View, 'livemode'>,
  row: Row | null,
): Row | null {
  return row && (livemode === undefined || !row.livemode) ? row : null
}
